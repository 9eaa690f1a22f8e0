"""A decoded dump -> event blocks, as the ExecuTorch Inspector gives them.

Where the Inspector is wrong, this is not: an event that repeats within a run keeps every sample,
times are scaled after subtracting, a 32-bit wrap adds 2^32, an event whose duration cannot be right
is listed apart instead of failing the dump, and logged values may differ between runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ingest import decode_dumps
from ingest.errors import DumpError, EtRecordError
from ingest.sources.paths import Source, read_source
from queries.event_blocks.blocks import BuiltBlock, BuiltEvent
from queries.event_blocks.logged_values import LoggedValues
from queries.event_blocks.places import EventPlaces, delegate_id
from queries.event_blocks.samples import ProfileSamples
from queries.event_blocks.scales import DelegateTimes, Scales
from queries.event_blocks.time_scales import TimeScale
from queries.event_blocks.values_by_run import BlockValues, ValuesByRun
from warehouse.errors import QueryError, suggest
from warehouse.programs.correlation import BlockOrigin, Correlation, Origin, Place

if TYPE_CHECKING:
    from ingest.etrecord.values import RecordedValue

__all__ = [
    "BuiltBlock",
    "BuiltEvent",
    "build_event_blocks",
    "decode_tables",
    "read_correlation",
    "read_event_blocks",
]

Buffer = bytes | memoryview

EDGE_KEY = "edge_dialect_graph_module"  # what the Inspector calls the edge dialect program

_NO_CLOCKS: DelegateTimes = {}


def read_event_blocks(
    source: Source,
    *,
    etrecord: Source | Correlation | None = None,
    debug_buffer: Source | None = None,
    source_time_scale: TimeScale = TimeScale.NS,
    target_time_scale: TimeScale = TimeScale.MS,
    delegate_times: DelegateTimes = _NO_CLOCKS,
) -> list[BuiltBlock]:
    """The event blocks of a dump on disk, as `build_event_blocks` makes them.

    An ETRecord narrowed to the dump's method is what `read_correlation` makes of one.
    An unreadable file raises SourceError, a malformed dump DumpError, a malformed ETRecord
    EtRecordError.
    """
    tables = decode_tables(read_source(source), source.name)
    return build_event_blocks(
        tables,
        correlation=read_correlation(etrecord) if isinstance(etrecord, Source) else etrecord,
        debug_buffer=read_source(debug_buffer) if debug_buffer else None,
        source_time_scale=source_time_scale,
        target_time_scale=target_time_scale,
        delegate_times=delegate_times,
    )


def read_correlation(
    etrecord: Source, *, method: str | None = None, graph: str | None = None
) -> Correlation:
    """An ETRecord on disk, ready to correlate, with one method only if that is stated.

    `graph` tells operators, stack traces and modules: by default, and by the Inspector's name
    edge_dialect_graph_module, the edge dialect program. An ETRecord that is unreadable or lacks the
    method raises IngestError, one without that graph QueryError.
    """
    from ingest.etrecord.names import EDGE_PROGRAM
    from ingest.etrecord.record import read_etrecord

    name = EDGE_PROGRAM if graph in (None, EDGE_KEY) else graph
    return Correlation(read_etrecord(etrecord).of_method(method), graph=name)


def decode_tables(data: Buffer, name: str) -> Mapping[str, pa.Table]:
    """The decoded tables of one dump, which is called `name` in messages.

    Raises:
        DumpError: if the bytes are not a well-formed ETDump.
    """
    batch = decode_dumps([data])
    for fault in batch.errors.to_pylist():
        raise DumpError(
            name,
            reason=fault["reason"],
            byte_offset=fault["byte_offset"],
            detail=fault["detail"],
        )
    return batch.tables


def build_event_blocks(
    tables: Mapping[str, pa.Table],
    *,
    correlation: Correlation | None = None,
    debug_buffer: Buffer | None = None,
    source_time_scale: TimeScale = TimeScale.NS,
    target_time_scale: TimeScale = TimeScale.MS,
    delegate_times: DelegateTimes = _NO_CLOCKS,
) -> list[BuiltBlock]:
    """Event blocks of the decoded tables of one dump.

    Args:
        tables: The tables.
        correlation: The ETRecord of the program; None leaves out what only it knows.
        debug_buffer: Where logged tensors are; without it they are missing.
        source_time_scale: Unit of a clock tick.
        target_time_scale: Unit to give durations in.
        delegate_times: Clocks of delegated events by backend, "" for all others, or a converter of
            clock readings; the source time scale by default.

    Returns:
        One block per run signature, in the order in which they first appear in the file; a run
        without an event vector belongs to none. Converting between cycles and a unit of time
        raises QueryError.

    Raises:
        QueryError: if a clock is that of a backend which no event ran on.
    """
    scales = Scales(source_time_scale, target_time_scale, delegate_times)
    builder = _BlockBuilder(tables, scales, correlation, debug_buffer)
    blocks = [
        builder.block(row, runs, (source_time_scale, target_time_scale))
        for row, runs in _blocks(tables)
    ]
    known = {e.delegate_backend_name for block in blocks for e in block.events} - {None, ""}
    for backend in sorted(scales.backends - known):
        others = suggest(backend, sorted(filter(None, known)))
        raise QueryError(f"delegate clock of {backend}: no event ran on it{others}")
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

    def block(
        self, row: Mapping[str, Any], runs: list[int], time_scales: tuple[TimeScale, TimeScale]
    ) -> BuiltBlock:
        """The block of a run signature, a row of its table, and its runs."""
        block, index = row["run_signature_id"], row["bundled_input_index"]
        signatures = [self._signatures[id_] for id_ in row["events"]]
        values = BlockValues(
            self._logged, runs, signatures=signatures, chains=partial(self._profiles.chains, block)
        )
        located = self._locate(self._places.of(block, runs[0], signatures))
        expected, notes = self._reference_output(located.method, index)
        return BuiltBlock(
            row["name"],
            index,
            *time_scales,
            values.outputs,
            [
                self._event(block, signature, origin=origin, values=values.of(i))
                for i, (signature, origin) in enumerate(
                    zip(signatures, located.origins, strict=True)
                )
            ],
            expected,
            located.method,
            located.method_candidates,
            located.notes + notes,
        )

    def _locate(self, places: Sequence[Place]) -> BlockOrigin:
        if self._correlation is None:
            return BlockOrigin(origins=[Origin()] * len(places))
        return self._correlation.locate(places)

    def _reference_output(
        self, method: str | None, index: int
    ) -> tuple[list[RecordedValue] | None, list[str]]:
        """Outputs that the ETRecord has for a bundled input, and a note if they are unreadable."""
        if self._correlation is None or method is None or index < 0:
            return None, []
        try:
            cases = self._correlation.record.reference_outputs.get(method, [])
        except EtRecordError as error:
            return None, [str(error)]
        return (cases[index] if index < len(cases) else None), []

    def _event(
        self, block: int, signature: Mapping[str, Any], *, origin: Origin, values: ValuesByRun
    ) -> BuiltEvent:
        id_, instruction = delegate_id(signature), signature["instruction_id"]
        if id_ is None:
            name = signature["debug_name"] or signature["name"]
            scale = self._scales.of_event()
        else:
            name = str(id_)
            scale = self._scales.of_delegated(name, origin.delegate_backend_name)
        return BuiltEvent(
            name,
            signature["kind"],
            -1 if instruction is None else instruction,
            id_,
            self._profiles.samples(block, signature["event_signature_id"], scale),
            values,
            *origin,
        )


def _by_id(signatures: pa.Table) -> dict[int, dict[str, Any]]:
    return {row[signatures.column_names[0]]: row for row in signatures.to_pylist()}


def _blocks(tables: Mapping[str, pa.Table]) -> list[tuple[dict[str, Any], list[int]]]:
    """Each run signature, as a row of its table, with its runs."""
    runs: dict[int, list[int]] = {}
    for run, signature in enumerate(tables["runs"]["run_signature_id"].to_pylist()):
        if signature is not None:
            runs.setdefault(signature, []).append(run)
    signatures = _by_id(tables["run_signatures"])
    return [(signatures[signature], members) for signature, members in runs.items()]
