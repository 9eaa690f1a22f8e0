"""A decoded dump -> the event blocks of the ExecuTorch Inspector.

Errors of the Inspector are avoided: an event that repeats within a run keeps every sample, times
are scaled after subtracting, a 32-bit wrap adds 2^32, an event with a wrong duration is listed
separately instead of failing the dump, and logged values may differ between runs.

ExecuTorch 1.5.1's runtime does not write the index of the bundled input: `with_reference_outputs`
finds the reference outputs of such blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tracehouse.ingest.decode import decode_dumps
from tracehouse.ingest.errors import DumpError, EtRecordError
from tracehouse.ingest.signatures import rule_of_row, with_user_kinds
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_dump_bytes, read_source
from tracehouse.queries.event_blocks.blocks import Event, EventBlock
from tracehouse.queries.event_blocks.logged_values import BlockValues, LoggedValues, ValuesByRun
from tracehouse.queries.event_blocks.profile_samples import (
    EventPlaces,
    Group,
    ProfileSamples,
    Samples,
    delegate_id,
)
from tracehouse.queries.event_blocks.scales import DelegateTimes, Scale, Scales
from tracehouse.queries.event_blocks.time_scales import TimeScale, check_backends
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import BlockOrigin, Correlation, Origin

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.maps import RecordedValue
    from tracehouse.ingest.etrecord.record import EtRecord

__all__ = [
    "as_correlation",
    "build_event_blocks",
    "correlate",
    "decode_tables",
    "read_correlation",
    "read_event_blocks",
]

Buffer = bytes | memoryview
_RunsOfBlock = tuple[dict[str, Any], list[int]]

EDGE_KEY = "edge_dialect_graph_module"  # the Inspector's name of the edge dialect program

_NO_CLOCKS: DelegateTimes = {}


def read_event_blocks(
    source: Source,
    *,
    etrecord: Source | Correlation | None = None,
    debug_buffer: Source | None = None,
    source_time_scale: TimeScale = TimeScale.NS,
    target_time_scale: TimeScale = TimeScale.MS,
    delegate_times: DelegateTimes = _NO_CLOCKS,
) -> list[EventBlock]:
    """The event blocks of a dump on disk; see `build_event_blocks`.

    An unreadable file raises SourceError, a malformed dump DumpError, a malformed ETRecord
    EtRecordError.
    """
    tables = decode_tables(read_dump_bytes(source), source.name)
    return build_event_blocks(
        tables,
        correlation=as_correlation(etrecord),
        debug_buffer=read_source(debug_buffer) if debug_buffer else None,
        source_time_scale=source_time_scale,
        target_time_scale=target_time_scale,
        delegate_times=delegate_times,
    )


def as_correlation(etrecord: Source | Correlation | None) -> Correlation | None:
    """The ETRecord, read unless it already is; errors are those of `read_correlation`."""
    return read_correlation(etrecord) if isinstance(etrecord, Source) else etrecord


def read_correlation(
    etrecord: Source, *, method: str | None = None, graph: str | None = None
) -> Correlation:
    """An ETRecord on disk, ready to correlate, restricted to a method if one is given.

    Operators, stack traces and modules come from `graph`, by default (and for the Inspector's name
    edge_dialect_graph_module) the edge dialect program. An ETRecord that is unreadable or lacks the
    method raises IngestError, one without the graph QueryError.
    """
    from tracehouse.ingest.etrecord.record import read_etrecord

    return correlate(read_etrecord(etrecord), method=method, graph=graph)


def correlate(
    record: EtRecord, *, method: str | None = None, graph: str | None = None
) -> Correlation:
    """An ETRecord, ready to correlate; see `read_correlation`."""
    from tracehouse.ingest.etrecord.names import EDGE_PROGRAM

    name = EDGE_PROGRAM if graph in (None, EDGE_KEY) else graph
    return Correlation(record.of_method(method), graph=name)


def decode_tables(data: Buffer, name: str) -> Mapping[str, pa.Table]:
    """The decoded tables of one dump, which is called `name` in messages.

    Raises:
        DumpError: The bytes are not a well-formed ETDump.
    """
    batch = decode_dumps([data])
    for fault in batch.errors.to_pylist():
        raise DumpError(
            name, reason=fault["reason"], byte_offset=fault["byte_offset"], detail=fault["detail"]
        )
    signatures = with_user_kinds(batch.tables["event_signatures"])
    return {**batch.tables, "event_signatures": signatures}


def build_event_blocks(
    tables: Mapping[str, pa.Table],
    *,
    correlation: Correlation | None = None,
    debug_buffer: Buffer | None = None,
    source_time_scale: TimeScale = TimeScale.NS,
    target_time_scale: TimeScale = TimeScale.MS,
    delegate_times: DelegateTimes = _NO_CLOCKS,
) -> list[EventBlock]:
    """Event blocks of the decoded tables of one dump.

    Args:
        tables: The tables.
        correlation: The ETRecord of the program, if any.
        debug_buffer: The logged tensors; without it they are missing.
        source_time_scale: Unit of a clock tick.
        target_time_scale: Unit of the durations.
        delegate_times: Clocks of delegated events by backend, "" for all others, or a converter of
            clock readings; the source time scale by default.

    Returns:
        One block per run signature, in order of first appearance in the file; a run without an
        event vector has no block. Converting between cycles and a unit of time raises QueryError.

    Raises:
        QueryError: No event ran on a clock's backend.
    """
    scales = Scales(source_time_scale, target_time_scale, delegate_times)
    builder = _BlockBuilder(tables, scales, correlation, debug_buffer)
    blocks = builder.blocks(_runs_by_block(tables))
    events = (event for block in blocks for event in block.events)
    check_backends(scales.backends, (event.delegate_backend_name for event in events))
    return blocks


class _BlockBuilder:
    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        scales: Scales,
        correlation: Correlation | None,
        debug_buffer: Buffer | None,
    ) -> None:
        self._profiles = ProfileSamples(tables)
        self._logged = LoggedValues(tables["debug_values"], debug_buffer)
        self._places = EventPlaces(self._profiles, self._logged)
        self._signatures = _by_id(tables["event_signatures"])
        self._scales = scales
        self._correlation = correlation and correlation.renewed()

    def blocks(self, found: Sequence[_RunsOfBlock]) -> list[EventBlock]:
        """The blocks of run signatures, given as rows with their runs."""
        located = [self._locate(row, runs) for row, runs in found]
        scales = {
            (row["run_signature_id"], signature["event_signature_id"]): self._scale(
                signature, origin
            )
            for (row, _), block in zip(found, located, strict=True)
            for signature, origin in zip(self._signatures_of(row), block.origins, strict=True)
        }
        samples = self._profiles.samples(scales)
        return [
            self._block(row, runs, block, samples)
            for (row, runs), block in zip(found, located, strict=True)
        ]

    def _block(
        self,
        row: Mapping[str, Any],
        runs: list[int],
        located: BlockOrigin,
        samples: Mapping[Group, Samples],
    ) -> EventBlock:
        block, index = row["run_signature_id"], row["bundled_input_index"]
        signatures = self._signatures_of(row)
        values = BlockValues(
            self._logged, runs, signatures=signatures, chains=partial(self._profiles.chains, block)
        )
        expected, notes = self._reference_output(located.method, index)
        events = [
            self._event(
                signature,
                samples.get((block, signature["event_signature_id"]), Samples()),
                values=values.of(i),
                origin=origin,
            )
            for i, (signature, origin) in enumerate(zip(signatures, located.origins, strict=True))
        ]
        return EventBlock(
            row["name"],
            events,
            *self._scales.time_scales,
            index,
            values.outputs.first,
            expected,
            located.method,
            located.method_candidates,
            located.notes + notes,
            values.outputs,
        )

    def _event(
        self, signature: Mapping[str, Any], samples: Samples, *, values: ValuesByRun, origin: Origin
    ) -> Event:
        id_, instruction = delegate_id(signature), signature["instruction_id"]
        handles, op_types, stack_traces, modules, backend, num_outputs = origin
        return Event(
            name=(signature["debug_name"] or signature["name"]) if id_ is None else str(id_),
            perf_data=samples.perf_data,
            op_types=op_types,
            delegate_debug_identifier=id_,
            debug_handles=handles,
            num_outputs=num_outputs,
            stack_traces=stack_traces,
            module_hierarchy=modules,
            is_delegated_op=id_ is not None,
            delegate_backend_name=backend,
            _delegate_debug_metadatas=list(samples.metadata),
            debug_data=values.first,
            _instruction_id=-1 if instruction is None else instruction,
            _delegate_time_scale_converter=self._scales.converter,
            _start_time=samples.start_time,
            _kind=signature["kind"],
            samples_per_run=samples.samples_per_run,
            flagged=list(samples.flagged),
            values=values,
            rule=rule_of_row(signature),
        )

    def _signatures_of(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [self._signatures[id_] for id_ in row["events"]]

    def _locate(self, row: Mapping[str, Any], runs: Sequence[int]) -> BlockOrigin:
        signatures = self._signatures_of(row)
        if self._correlation is None:
            return BlockOrigin(origins=[Origin()] * len(signatures))
        places = self._places.of(row["run_signature_id"], runs[0], signatures)
        return self._correlation.locate(places)

    def _scale(self, signature: Mapping[str, Any], origin: Origin) -> Scale:
        id_ = delegate_id(signature)
        if id_ is None:
            return self._scales.of_event()
        return self._scales.of_delegated(str(id_), origin.delegate_backend_name)

    def _reference_output(
        self, method: str | None, index: int
    ) -> tuple[list[RecordedValue] | None, list[str]]:
        """The ETRecord's outputs for a bundled input, and a note if they are unreadable."""
        if self._correlation is None or method is None or index < 0:
            return None, []
        try:
            cases = self._correlation.record.reference_outputs.get(method, [])
        except EtRecordError as error:
            return None, [str(error)]
        return (cases[index] if index < len(cases) else None), []


def _by_id(signatures: pa.Table) -> dict[int, dict[str, Any]]:
    return {row[signatures.column_names[0]]: row for row in signatures.to_pylist()}


def _runs_by_block(tables: Mapping[str, pa.Table]) -> list[_RunsOfBlock]:
    """Each run signature's row with its runs."""
    runs: dict[int, list[int]] = {}
    for run, signature in enumerate(tables["runs"]["run_signature_id"].to_pylist()):
        if signature is not None:
            runs.setdefault(signature, []).append(run)
    signatures = _by_id(tables["run_signatures"])
    return [(signatures[signature], members) for signature, members in runs.items()]


def with_reference_outputs(
    blocks: Iterable[EventBlock], correlation: Correlation | None, bundled_input: int | None
) -> list[EventBlock]:
    """The blocks, with reference outputs for blocks that ran a method.

    The bundled input is that of the dump, else `bundled_input`, else the method's only one in the
    ETRecord.

    Raises:
        QueryError: The ETRecord does not have `bundled_input`.
    """
    found = [_add_reference_output(block, correlation, bundled_input) for block in blocks]
    if bundled_input is not None and not any(block.reference_output for block in found):
        raise QueryError(
            f"bundled input {bundled_input}: the ETRecord has no reference output of it for a "
            "method that ran"
        )
    return found


def _has_run(block: EventBlock) -> bool:
    return bool(block.run_output) or any(event.kind == "method" for event in block.events)


def _add_reference_output(
    block: EventBlock, correlation: Correlation | None, bundled_input: int | None
) -> EventBlock:
    if correlation is None or block.method is None:
        return block
    index = block.bundled_input_index
    if (index is not None and index >= 0) or not _has_run(block):
        return block
    try:
        cases = correlation.record.reference_outputs.get(block.method, [])
    except EtRecordError as error:
        return replace(block, notes=[*block.notes, str(error)])
    case = bundled_input if bundled_input is not None else 0 if len(cases) == 1 else -1
    return replace(block, reference_output=cases[case]) if 0 <= case < len(cases) else block
