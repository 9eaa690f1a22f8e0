"""The Arrow schema of every table, stored or decoded: the one source of names, types and docs.

Types are limited to what Arrow, DuckDB, Parquet and Spark share: string, int64, int32, float64,
bool, binary, decimal128(20, 0), timestamp[us, UTC] and lists of these. Each field carries its
meaning in the metadata key ``doc`` (the warehouse repeats it as ``COMMENT ON``).

A decoded table is the stored one with ``dump_index`` (position in the call) for ``dump_id``.
"""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from tracehouse.ingest.schemas.attributes import SECTIONS, dimension_columns
from tracehouse.ingest.schemas.fields import (
    DUMP_ID,
    DUMP_INDEX,
    RUN_INDEX,
    UTC_US,
    decoded_fields,
    field,
    table,
)
from tracehouse.ingest.schemas.fields import field as _field
from tracehouse.ingest.schemas.fields import table as _table
from tracehouse.ingest.schemas.programs import EVENT_MODULES, EVENT_ORIGINS, PROGRAM_TABLES
from tracehouse.ingest.schemas.rollups import ROLLUPS
from tracehouse.ingest.schemas.upkeep import (
    ARCHIVE_SEGMENTS,
    ARCHIVED_FILES,
    BUILD_ORDER,
    DROPPED_EVENTS,
    FORGOTTEN_DUMPS,
    GROUP_DECISIONS,
    JUDGED_NIGHTS,
)

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), datetime: UTC_US}

_HASH = "SHA-256 of a tensor's bytes in logical C order, lower-case hex"
TENSORS = table(
    "One row per distinct content of logged tensors, whatever their dtype.",
    field("sha256", pa.string(), f"{_HASH}; unique."),
    field("byte_count", pa.int64(), "Size in bytes."),
    field("data", pa.binary(), "The bytes, little-endian; dtype and sizes are in debug_values."),
)
SHA256 = field("sha256", pa.string(), f"{_HASH}; null without one or its content.", nullable=True)
UINT64 = pa.decimal128(20, 0)
DUMPS = _table(
    "One row per accepted dump.",
    _field("dump_id", pa.int32(), "Number of the dump, from 1, in order of arrival."),
    _field("sha256", pa.string(), "SHA-256 of the dump's bytes, lower-case hex; unique."),
    _field("source", pa.string(), "Path or archive member the dump was first read from."),
    _field("byte_count", pa.int64(), "Size of the dump in bytes."),
    _field("device_id", pa.int32(), "Device that ran the model."),
    _field("build_id", pa.int32(), "Build that was run."),
    _field("model_id", pa.int32(), "Model that was run."),
    _field("captured_at", UTC_US, "Time of recording; null if unknown.", nullable=True),
    _field("ingested_at", UTC_US, "Time the dump was committed to the store."),
    _field("tick_unit", pa.string(), "Unit of a clock tick: ns, us, ms, s or cycles."),
    _field(
        "ns_per_tick", pa.float64(), "Nanoseconds per tick; null for cycles of unknown rate.",
        nullable=True,
    ),
    _field(
        "delegate_ns_per_tick", pa.float64(),
        "Nanoseconds per tick of delegate events; null for cycles of unknown rate.",
        nullable=True,
    ),
    _field(
        "resolution_ticks", pa.float64(),
        "Ticks in a step of the clock, estimated from the durations; 1 or more.",
    ),
    _field(
        "delegate_resolution_ticks", pa.float64(),
        "Ticks in a step of the clock of delegate events, likewise.",
    ),
    _field("schema_version", pa.int64(), "The dump's own version field, as recorded."),
    _field("is_size_prefixed", pa.bool_(), "Whether the file starts with its length (the runtime's form)."),
    _field("n_runs", pa.int32(), "Runs in the dump."),
    _field("n_events", pa.int64(), "Profile events in the dump: its rows in events, flagged ones included."),
    _field("n_flagged_events", pa.int64(), "Profile events with impossible durations; stored, but in no percentile."),
    _field("n_allocations", pa.int64(), "Allocation events in the dump."),
    _field("n_debug_events", pa.int64(), "Debug events (logged values) in the dump."),
    _field("n_empty_events", pa.int64(), "Event tables without any member."),
    _field("manifest", pa.string(), "The dump's manifest as canonical JSON."),
    _field("etrecord_id", pa.int64(), "ETRecord of its program; null if none was given.", nullable=True),
    _field("debug_buffer_sha256", pa.string(), "SHA-256 of its debug buffer, hex; null if none was given.", nullable=True),
)  # fmt: skip
RUNS = _table(
    "One row per run in a dump, in file order.",
    DUMP_ID,
    RUN_INDEX,
    _field("run_signature_id", pa.int64(), "Signature of the run; null if it has no event vector.", nullable=True),
    _field("name", pa.string(), "Name of the run (event block); null if absent.", nullable=True),
    _field("bundled_input_index", pa.int32(), "Index of the bundled input; -1 when there is none."),
    _field("start_ticks", UINT64, "Earliest start of the run's profile events, counted from its first; 0 where nonsense clocks hide it; null without any.", nullable=True),
    _field("n_events", pa.int32(), "Profile events in the run."),
)  # fmt: skip
RUN_SIGNATURES = _table(
    "One row per distinct run name, ordered distinct event signatures, bundled input index and length.",
    _field("run_signature_id", pa.int64(), "Stable 63-bit hash of the signature's canonical encoding."),
    _field("name", pa.string(), "Name of the runs; null if absent.", nullable=True),
    _field("bundled_input_index", pa.int32(), "Index of the bundled input; -1 when there is none."),
    _field("events", pa.list_(pa.int64()), "Ids of the distinct event signatures, in the Inspector's order."),
    _field("length", pa.string(), "long or short, of runs that look alike but take two lengths in a dump; else null.", nullable=True),
)  # fmt: skip
EVENT_SIGNATURES = _table(
    "One row per distinct event signature.",
    _field("event_signature_id", pa.int64(), "Stable 63-bit hash of the signature's canonical encoding."),
    _field("name", pa.string(), "Name of the profile event, or '' when absent."),
    _field("instruction_id", pa.int32(), "Instruction id; null outside the program (-1).", nullable=True),
    _field("delegate_id_int", pa.int32(), "Integer delegate debug id; null when absent (-1).", nullable=True),
    _field("delegate_id_str", pa.string(), "String delegate debug id; null when absent or ''.", nullable=True),
    _field("kind", pa.string(), "method, load, operator_call, kernel, delegate_call, delegate_op, delegate_phase, delegate_counter, control or other."),
    _field("is_profiled", pa.bool_(), "Whether the signature has a profile event; false for logged values alone."),
    _field("is_logged", pa.bool_(), "Whether values were logged for it (debug part of the signature)."),
    _field("debug_name", pa.string(), "Name of the first debug event, or ''; null when not logged.", nullable=True),
    _field("name_hex", pa.string(), "Raw bytes of the name as hex where it is not UTF-8; else null.", nullable=True),
    _field("unit", pa.string(), "Unit of the value: ns, us, ms, s, that of a counter, or unknown; null for ticks of the dump's clocks.", nullable=True),
)  # fmt: skip
EVENTS = _table(
    "One row per profile event, ordered by dump, run signature, event signature, run, occurrence.",
    DUMP_ID,
    _field("run_signature_id", pa.int64(), "Signature of the event's run."),
    _field("event_signature_id", pa.int64(), "Signature of the event."),
    RUN_INDEX,
    _field("occurrence", pa.int32(), "0, 1, ... where the signature repeats within the run (loops)."),
    _field("chain_index", pa.int32(), "Chain of the instruction; -1 outside instructions."),
    _field("start_offset_ticks", pa.int64(), "Start minus the run's start_ticks, modulo 2^64, or 2^32 if that wrapped in the run."),
    _field("duration_ticks", pa.int64(), "End minus start, modulo 2^64; plus 2^32 after a 32-bit wrap."),
    _field("flags", pa.int32(), "0, or bits: 1 32-bit wrap corrected, 2 end before start, 4 longer than 2^63."),
)  # fmt: skip
ALLOCATORS = _table(
    "One row per allocator of a run, in file order.",
    DUMP_ID,
    RUN_INDEX,
    _field("allocator_id", pa.int32(), "Number of the allocator in its run, from 1."),
    _field("name", pa.string(), "Name of the allocator; null if absent.", nullable=True),
)
ALLOCATIONS = _table(
    "One row per allocation event, in file order.",
    DUMP_ID,
    RUN_INDEX,
    _field("event_index", pa.int32(), "Position of the event in its run, from 0."),
    _field("allocator_id", pa.int32(), "Allocator the memory came from, from 1."),
    _field("allocator", pa.string(), "Name of that allocator; null if the run has none of that id.", nullable=True),
    _field("bytes", UINT64, "Size of the allocation in bytes."),
)  # fmt: skip
DEBUG_VALUES = _table(
    "One row per logged value, in file order; a tensor list has one row per tensor.",
    DUMP_ID,
    RUN_INDEX,
    _field("event_index", pa.int32(), "Position of the event in its run, from 0."),
    _field("chain_index", pa.int64(), "Chain of the instruction; -1 outside instructions."),
    _field("instruction_id", pa.int32(), "Instruction id; null outside the program (-1).", nullable=True),
    _field("delegate_id_int", pa.int32(), "Integer delegate debug id; null when absent (-1).", nullable=True),
    _field("delegate_id_str", pa.string(), "String delegate debug id; null when absent or ''.", nullable=True),
    _field("name", pa.string(), "Name of the debug event; null if absent.", nullable=True),
    _field("position", pa.int32(), "Position among the values that the run logs for the same instruction, chain and delegate id, outputs excluded."),
    _field("element_index", pa.int32(), "Position in a tensor list; null for other values and empty lists.", nullable=True),
    _field("value_type", pa.string(), "null, int, bool, float, double, tensor, tensor_list, string, or 'missing' without an entry."),
    _field("int_value", pa.int64(), "Value of an int or bool (0, 1); null for others or if missing.", nullable=True),
    _field("double_value", pa.float64(), "Value of a float or double; null for others or if missing.", nullable=True),
    _field("dtype", pa.string(), "Tensor element type, e.g. float32; null for others.", nullable=True),
    _field("sizes", pa.list_(pa.int64()), "Tensor shape; null for others or if absent.", nullable=True),
    _field("strides", pa.list_(pa.int64()), "Tensor strides in elements; null for others or if absent.", nullable=True),
    _field("tensor_offset", pa.int64(), "Byte offset of the tensor in the debug buffer; null for others.", nullable=True),
    _field("is_output", pa.bool_(), "Whether the value is a program output."),
    SHA256,
)  # fmt: skip
DELEGATE_METADATA = _table(
    "One row per profile event that carries delegate metadata bytes, in file order.",
    DUMP_ID,
    RUN_INDEX,
    _field("event_signature_id", pa.int64(), "Signature of the event."),
    _field("occurrence", pa.int32(), "Which of the signature's events in the run, from 0."),
    _field("metadata", pa.binary(), "The delegate's bytes, as written."),
    _field(
        "parsed",
        pa.string(),
        "The bytes as JSON; null if they are not JSON and no parser knows them.",
        nullable=True,
    ),
)
COUNTERS = _table(
    "One row per value of a counter that a dump's manifest states, such as energy, or that a delegate logs as an event.",
    DUMP_ID,
    _field("run_index", pa.int32(), "Position of the run in its dump, from 0, even if the dump has no such run; null for the whole dump.", nullable=True),
    _field("name", pa.string(), "Name of the counter."),
    _field("unit", pa.string(), "Unit of the value as the manifest or the event states it; count if the manifest states none."),
    _field("value", pa.float64(), "The amount counted or consumed."),
    _field("source", pa.string(), "Origin of the value, such as LLM runner or QHAS; null for the manifest itself and for events.", nullable=True),
    _field("event_signature_id", pa.int64(), "Signature of the event that logged it; null if the manifest states it.", nullable=True),
    _field("instruction_id", pa.int32(), "Instruction of the delegate that logged it; null if none did.", nullable=True),
)  # fmt: skip
INGEST_ERRORS = _table(
    "One row per file that was refused, in order of refusal.",
    _field("source", pa.string(), "Path or archive member that was refused."),
    _field("sha256", pa.string(), "SHA-256 of its bytes, if they were read.", nullable=True),
    _field("reason", pa.string(), "Machine-readable reason, e.g. truncated, manifest, conflict."),
    _field("byte_offset", pa.int64(), "Offset of the first fault; null where none applies.", nullable=True),
    _field("detail", pa.string(), "What was found and what was wanted."),
    _field("refused_at", UTC_US, "Time of the refusal."),
    _field("manifest", pa.string(), "Manifest that came with the dump, as canonical JSON; null if none did, or it was invalid.", nullable=True),
)  # fmt: skip
_LATER = {"sha256", "parsed"}  # columns that are not decoded from a dump alone
_DECODED_DUMP_COLUMNS = (
    "byte_count", "schema_version", "is_size_prefixed", "n_runs", "n_events", "n_flagged_events",
    "n_allocations", "n_debug_events", "n_empty_events",
)  # fmt: skip
ERRORS = _table(
    "One row per refused dump, in order of dump_index.",
    DUMP_INDEX,
    _field("reason", pa.string(), "Machine-readable reason, e.g. truncated or bad_identifier."),
    _field(
        "byte_offset",
        pa.int64(),
        "Offset of the first fault; null where none applies.",
        nullable=True,
    ),
    _field("detail", pa.string(), "What was found and what was wanted."),
)


def dimension(kind: str, doc: str) -> pa.Schema:
    """The schema of a table with a number and a column for each attribute of its rows."""
    columns = zip(dimension_columns(kind), SECTIONS[kind].values(), strict=True)
    return table(
        doc,
        field(f"{kind}_id", pa.int32(), f"Number of the {kind}."),
        *(
            field(name, _TYPES[attribute.type], attribute.doc, nullable=name != "name")
            for name, attribute in columns
        ),
    )


DEVICES = dimension("device", "One row per distinct state of a device (name and all attributes).")
BUILDS = dimension("build", "One row per build.")
MODELS = dimension("model", "One row per model, backend and quantization.")


STORED: dict[str, pa.Schema] = {
    "dumps": DUMPS,
    "devices": DEVICES,
    "builds": BUILDS,
    "models": MODELS,
    "runs": RUNS,
    "run_signatures": RUN_SIGNATURES,
    "event_signatures": EVENT_SIGNATURES,
    "events": EVENTS,
    "allocators": ALLOCATORS,
    "allocations": ALLOCATIONS,
    "debug_values": DEBUG_VALUES,
    "delegate_metadata": DELEGATE_METADATA,
    "counters": COUNTERS,
    **ROLLUPS,
    "ingest_errors": INGEST_ERRORS,
    "tensors": TENSORS,
    **PROGRAM_TABLES,
    "event_origins": EVENT_ORIGINS,
    "event_modules": EVENT_MODULES,
    "archive_segments": ARCHIVE_SEGMENTS,
    "archived_files": ARCHIVED_FILES,
    "dropped_events": DROPPED_EVENTS,
    "forgotten_dumps": FORGOTTEN_DUMPS,
    "group_decisions": GROUP_DECISIONS,
    "judged_nights": JUDGED_NIGHTS,
    "build_order": BUILD_ORDER,
}


def _decoded_schema(name: str) -> pa.Schema:
    schema = STORED[name]
    if name == "dumps":
        return pa.schema(
            [DUMP_INDEX, *(schema.field(c) for c in _DECODED_DUMP_COLUMNS)], schema.metadata
        )
    fields = [field for field in decoded_fields(schema) if field.name not in _LATER]
    return pa.schema(fields, schema.metadata)


DECODED: dict[str, pa.Schema] = {
    name: _decoded_schema(name)
    for name in (
        "dumps", "runs", "run_signatures", "event_signatures", "events", "allocators",
        "allocations", "debug_values", "delegate_metadata",
    )
}  # fmt: skip
