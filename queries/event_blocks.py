"""A decoded dump -> event blocks, as the ExecuTorch Inspector gives them.

Where the Inspector is wrong, this is not: an event that repeats within a run keeps every sample,
times are scaled after subtracting, a 32-bit wrap adds 2^32, an event whose duration cannot be right
is listed apart instead of failing the dump, and logged values may differ between runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ingest import decode_dumps
from ingest.errors import DumpError
from ingest.sources import Source, read_source
from queries.logged_values import (
    LoggedEvent,
    LoggedValue,
    LoggedValues,
    SignatureValues,
    instruction_of,
)
from queries.samples import ProfileEvents, Samples
from queries.time_scales import TimeScale, target_per_source


@dataclass(frozen=True)
class Event:
    """One event signature of a block.

    Attributes:
        name: Delegate id of a delegated event; else the logged value's name, else the event's.
        instruction_id: Instruction; -1 outside the program.
        delegate_debug_identifier: Delegate id; None if the event is not delegated.
        samples: Its profile events; None if only values were logged for it.
        debug_data: Values logged for it in the block's first run, in file order.
    """

    name: str
    instruction_id: int
    delegate_debug_identifier: int | str | None
    samples: Samples | None
    debug_data: list[LoggedValue]

    @property
    def is_delegated_op(self) -> bool:
        """Whether it has a delegate id."""
        return self.delegate_debug_identifier is not None


@dataclass(frozen=True)
class EventBlock:
    """The runs of one signature.

    Attributes:
        name: Name of the runs; None if absent.
        bundled_input_index: Index of the bundled input; -1 when there is none.
        source_time_scale: Unit of a clock tick.
        target_time_scale: Unit of the durations.
        run_output: Program outputs of the first run that logged any, in file order.
        events: In the Inspector's order.
    """

    name: str | None
    bundled_input_index: int
    source_time_scale: TimeScale
    target_time_scale: TimeScale
    run_output: list[LoggedValue]
    events: list[Event]


def read_event_blocks(
    source: Source,
    *,
    source_time_scale: TimeScale = TimeScale.NS,
    target_time_scale: TimeScale = TimeScale.MS,
) -> list[EventBlock]:
    """The event blocks of a dump on disk, as `build_event_blocks` makes them.

    An unreadable file raises SourceError.

    Raises:
        DumpError: if the file is not a well-formed ETDump.
    """
    batch = decode_dumps([read_source(source)])
    for fault in batch.errors.to_pylist():
        raise DumpError(
            source.name,
            reason=fault["reason"],
            byte_offset=fault["byte_offset"],
            detail=fault["detail"],
        )
    return build_event_blocks(
        batch.tables, source_time_scale=source_time_scale, target_time_scale=target_time_scale
    )


def build_event_blocks(
    tables: Mapping[str, pa.Table],
    *,
    source_time_scale: TimeScale = TimeScale.NS,
    target_time_scale: TimeScale = TimeScale.MS,
) -> list[EventBlock]:
    """Event blocks of the decoded tables of one dump.

    Returns:
        One block per run signature, in the order in which they first appear in the file; a run
        without an event vector belongs to none. Converting between cycles and a unit of time
        raises QueryError.
    """
    scale = target_per_source(source_time_scale, target_time_scale)
    profiles = ProfileEvents(tables, scale)
    logged = LoggedValues(tables["debug_values"])
    signatures = _by_id(tables["event_signatures"])
    return [
        EventBlock(
            block["name"],
            block["bundled_input_index"],
            source_time_scale,
            target_time_scale,
            logged.outputs(runs),
            _events(
                [signatures[event] for event in block["events"]],
                profiles,
                logged=logged.of_run(runs[0]),
                place=(block["run_signature_id"], runs[0]),
            ),
        )
        for block, runs in _blocks(tables)
    ]


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


def _events(
    signatures: Sequence[Mapping[str, Any]],
    profiles: ProfileEvents,
    *,
    logged: Sequence[LoggedEvent],
    place: tuple[int, int],
) -> list[Event]:
    """Events of a block; `place` is its run signature and its first run, `logged` that run's."""
    block, run = place
    ids = [signature["event_signature_id"] for signature in signatures]
    instructions = [
        [instruction_of(signature, chain) for chain in profiles.chains(block, id_, run)]
        for id_, signature in zip(ids, signatures, strict=True)
    ]
    values = SignatureValues(logged, {one for several in instructions for one in several})
    return [
        _event(signature, profiles.samples(block, id_), values.of(signature, several))
        for id_, signature, several in zip(ids, signatures, instructions, strict=True)
    ]


def _event(
    signature: Mapping[str, Any], samples: Samples | None, debug_data: list[LoggedValue]
) -> Event:
    delegate_id: int | str | None = signature["delegate_id_int"]
    if delegate_id is None:
        delegate_id = signature["delegate_id_str"]
    name = signature["debug_name"] or signature["name"]
    instruction = signature["instruction_id"]
    return Event(
        name if delegate_id is None else str(delegate_id),
        -1 if instruction is None else instruction,
        delegate_id,
        samples,
        debug_data,
    )
