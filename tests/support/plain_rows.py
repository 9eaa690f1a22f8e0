"""The expected rows of a decoded batch, computed from nested dicts one event at a time.

`expected_rows` derives every decoded table from the output of the reference reader (or flatc), and
`decoded_rows` brings a real batch into the same form: lists of dicts in which signature ids are
replaced by their content, and offsets by absolute clock readings, so that the two are equal
exactly if the batch is right. Rows are in file order; rows of events have their own order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tests.support.plain_signatures import (
    EventSignature,
    RunSignature,
    group_key,
    group_run,
    is_output,
    text,
    unless,
)
from tests.support.reference_reader import is_size_prefixed, read_reference
from tracehouse import DecodedBatch

Row = dict[str, Any]
Rows = dict[str, list[Row]]


# Those that are not the ScalarType's name in lower case.
DTYPES = {
    "BYTE": "uint8",
    "CHAR": "int8",
    "SHORT": "int16",
    "INT": "int32",
    "LONG": "int64",
    "HALF": "float16",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
}
VALUE_TYPES = {"TensorList": "tensor_list"}
SCALAR_MEMBERS = {
    "Int": ("int_value", "int_val"),
    "Bool": ("bool_value", "bool_val"),
    "Float": ("float_value", "float_val"),
    "Double": ("double_value", "double_val"),
}


def reference_rows(dumps: Mapping[int, bytes]) -> Rows:
    """Rows of well-formed dumps, by their position in the call, through the reference reader."""
    return expected_rows({i: (dump, read_reference(dump)) for i, dump in dumps.items()})


def expected_rows(dumps: Mapping[int, tuple[bytes, Mapping[str, Any]]]) -> Rows:
    """Rows of dumps, given as file and content, by their position in the call."""
    names = ("dumps", "runs", "events", "allocators", "allocations", "debug_values")
    rows: Rows = {name: [] for name in (*names, "delegate_metadata")}
    for dump_index, (file, content) in sorted(dumps.items()):
        runs = content.get("run_data", [])
        for run_index, run in enumerate(runs):
            here = {"dump_index": dump_index, "run_index": run_index}
            for name, found in _run_rows(run):
                rows[name].append(here | found)
        rows["dumps"].append(_dump_row(dump_index, file, content))
    rows["events"].sort(key=_event_order)
    return rows


def decoded_rows(batch: DecodedBatch) -> Rows:
    """The batch's tables as dicts, with signatures in place of ids and offsets."""
    tables = {name: table.to_pylist() for name, table in batch.tables.items()}
    signatures = {
        row["event_signature_id"]: EventSignature(
            **{key: row[key] for key in EventSignature._fields[:-1]},
            is_kernel=row["kind"] == "kernel",
        )
        for row in tables.pop("event_signatures")
    }
    runs = {
        row["run_signature_id"]: RunSignature(
            row["name"], row["bundled_input_index"], tuple(signatures[e] for e in row["events"])
        )
        for row in tables.pop("run_signatures")
    }
    starts = {(r["dump_index"], r["run_index"]): r.pop("start_ticks") for r in tables["runs"]}
    for row in (row for rows in tables.values() for row in rows):
        if "run_signature_id" in row:
            row["run_signature"] = runs.get(row.pop("run_signature_id"))
        if "event_signature_id" in row:
            row["event_signature"] = signatures[row.pop("event_signature_id")]
        if "start_offset_ticks" in row:
            run = row["dump_index"], row["run_index"]
            row |= _clock(row, int(starts[run]))
        if "double_value" in row:
            row["double_value"] = _comparable(row["double_value"])
    tables["events"].sort(key=_event_order)
    return tables


def expected_flags(start: int, end: int) -> int:
    """1 for a corrected 32-bit wrap, 2 for an end before the start, 4 for 2^63 ticks and more."""
    if end < start:
        return 1 if start < 2**32 else 2
    return 4 if end - start >= 2**63 else 0


def in_order(readings: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Start, end and flags of a run's events, with 2^32 added after its 32-bit clock wrapped."""
    starts = [start for start, _, _ in readings]
    if not any(flags & 1 for *_, flags in readings) or max(starts) >= 2**32:
        return list(readings)
    ticks = [(start - starts[0] + 2**31) % 2**32 - 2**31 for start in starts]
    origin = (starts[0] + min(ticks)) % 2**32
    return [
        (start + added, (end + added) % 2**64, flags)
        for start, end, flags in readings
        for added in [2**32 if start < origin else 0]
    ]


def _dump_row(dump_index: int, file: bytes, content: Mapping[str, Any]) -> Row:
    runs = content.get("run_data", [])
    events = [event for run in runs for event in run.get("events", [])]
    count = Counter(kind for event in events for kind in event)
    profiles = [event["profile_event"] for event in events if "profile_event" in event]
    return {
        "dump_index": dump_index,
        "byte_count": len(file),
        "schema_version": content["version"],
        "is_size_prefixed": is_size_prefixed(file),
        "n_runs": len(runs),
        "n_events": count["profile_event"],
        "n_flagged_events": sum(
            expected_flags(e["start_time"], e["end_time"]) > 1 for e in profiles
        ),
        "n_allocations": count["allocation_event"],
        "n_debug_events": count["debug_event"],
        "n_empty_events": sum(not event for event in events),
    }


def _run_rows(run: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    events = run.get("events", [])
    distinct, of_profile = group_run(events)
    names = [text(allocator.get("name")) for allocator in run.get("allocators", [])]
    signature = None
    if "events" in run:
        signature = RunSignature(text(run.get("name")), run["bundled_input_index"], distinct)
    yield (
        "runs",
        {
            "run_signature": signature,
            "name": text(run.get("name")),
            "bundled_input_index": run["bundled_input_index"],
            "n_events": len(of_profile),
        },
    )
    for number, name in enumerate(names, start=1):
        yield "allocators", {"allocator_id": number, "name": name}
    yield from _profile_rows(events, of_profile, signature)
    for place, event in enumerate(events):
        if "allocation_event" in event:
            number = event["allocation_event"]["allocator_id"]
            yield (
                "allocations",
                {
                    "event_index": place,
                    "allocator_id": number,
                    "allocator": names[number - 1] if 0 < number <= len(names) else None,
                    "bytes": event["allocation_event"]["allocation_size"],
                },
            )
    yield from _debug_rows(events)


def _profile_rows(
    events: Sequence[Mapping[str, Any]],
    of_profile: Sequence[EventSignature],
    run_signature: RunSignature | None,
) -> Iterator[tuple[str, Row]]:
    seen: Counter[EventSignature] = Counter()
    profiles = [event["profile_event"] for event in events if "profile_event" in event]
    times = [(profile["start_time"], profile["end_time"]) for profile in profiles]
    clock = in_order([(*pair, expected_flags(*pair)) for pair in times])
    for profile, signature, reading in zip(profiles, of_profile, clock, strict=True):
        which = {"event_signature": signature, "occurrence": seen[signature]}
        seen[signature] += 1
        yield (
            "events",
            which
            | {
                "run_signature": run_signature,
                "chain_index": profile["chain_index"],
                **dict(zip(("start", "end", "flags"), reading, strict=True)),
            },
        )
        if profile.get("delegate_debug_metadata"):
            metadata = bytes(profile["delegate_debug_metadata"])
            yield "delegate_metadata", which | {"metadata": metadata}


def _debug_rows(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Row]]:
    seen: Counter[tuple[Any, ...]] = Counter()
    for place, event in enumerate(events):
        if "debug_event" not in event:
            continue
        debug = event["debug_event"]
        group = (*group_key(debug), is_output(debug))
        common = {
            "event_index": place,
            "chain_index": (debug["chain_index"] + 2**63) % 2**64 - 2**63,
            "instruction_id": unless(-1, debug["instruction_id"]),
            "delegate_id_int": unless(-1, debug["delegate_debug_id_int"]),
            "delegate_id_str": text(debug.get("delegate_debug_id_str")) or None,
            "name": text(debug.get("name")),
            "position": seen[group],
            "is_output": is_output(debug),
        }
        seen[group] += 1
        for found in _value_rows(debug.get("debug_entry")):
            yield "debug_values", common | found


def _value_rows(value: Mapping[str, Any] | None) -> Iterator[Row]:
    kind = "missing" if value is None else value["val"]
    row: Row = dict.fromkeys(
        ("element_index", "int_value", "double_value", "dtype", "sizes", "strides", "tensor_offset")
    )
    row["value_type"] = (
        VALUE_TYPES.get(kind, kind.lower()) if isinstance(kind, str) else f"unknown({kind})"
    )
    member, scalar = SCALAR_MEMBERS.get(kind, ("", ""))
    if value and member in value:
        if kind in ("Int", "Bool"):
            row["int_value"] = int(value[member][scalar])
        else:
            row["double_value"] = _comparable(value[member][scalar])
    if value and kind == "Tensor" and "tensor" in value:
        row |= _tensor(value["tensor"])
    tensors = (
        value.get("tensor_list", {}).get("tensors") if value and kind == "TensorList" else None
    )
    if not tensors:
        yield row
    for element, tensor in enumerate(tensors or []):
        yield row | _tensor(tensor) | {"element_index": element}


def _tensor(tensor: Mapping[str, Any]) -> Row:
    dtype = tensor["scalar_type"]
    return {
        "dtype": DTYPES.get(dtype, dtype.lower())
        if isinstance(dtype, str)
        else f"unknown({dtype})",
        "sizes": tensor.get("sizes"),
        "strides": tensor.get("strides"),
        "tensor_offset": tensor["offset"],
    }


_signature_text = cache(repr)


def _event_order(row: Row) -> tuple[Any, ...]:
    signature = _signature_text(row["event_signature"])
    return row["dump_index"], row["run_index"], signature, row["occurrence"]


def _clock(row: Row, run_start: int) -> Row:
    start = (run_start + row.pop("start_offset_ticks")) % 2**64
    correction = 2**32 if row["flags"] & 1 else 0
    return {"start": start, "end": (start + row.pop("duration_ticks") - correction) % 2**64}


def _comparable(number: float | None) -> float | str | None:
    return "nan" if number is not None and number != number else number
