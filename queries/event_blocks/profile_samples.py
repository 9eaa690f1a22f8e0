"""Durations of a dump's profile events, grouped by event block and event signature. Pure.

All groups are processed at once, as a dump may have as many groups as events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import compress, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.tables.clocks import END_BEFORE_START, restore_starts
from tracehouse.queries.event_blocks.blocks import FlaggedSample, PerfData
from tracehouse.queries.event_blocks.logged_values import Instruction, LoggedValues
from tracehouse.queries.event_blocks.scales import Scale
from tracehouse.warehouse.programs.correlation import Place
from tracehouse.warehouse.programs.method_origins import is_in_program
from tracehouse.warehouse.statistics.arrays import Floats

Group = tuple[int, int]  # run signature and event signature

_LAST_VALID_FLAG = 1

_Ids = tuple[Any, Any, Any]  # instruction id and delegate ids


class Samples(NamedTuple):
    """All profile events of one signature in an event block, in file order.

    Attributes:
        perf_data: Durations, without the flagged ones; None if there are no others.
        start_time: Clock reading in ticks at the start of each duration.
        metadata: Delegate metadata of each duration, b"" if absent; empty if none has any.
        samples_per_run: Number of durations of each run; None if no run has two.
        flagged: Events with wrong durations.
    """

    perf_data: PerfData | None = None
    start_time: list[int] | None = None
    metadata: Sequence[bytes] = ()
    samples_per_run: list[int] | None = None
    flagged: Sequence[FlaggedSample] = ()


class ProfileSamples:
    """Profile events of one dump by run signature, which is a block, and event signature."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        events = tables["events"]
        starts = _low_words(tables["runs"]["start_ticks"])
        self._run = events["run_index"].to_numpy()
        self._occurrence = events["occurrence"].to_numpy()
        self._chain = events["chain_index"].to_numpy()
        self._flags = events["flags"].to_numpy()
        self._duration = events["duration_ticks"].to_numpy()
        offset = events["start_offset_ticks"].to_numpy()
        self._start = restore_starts(self._run, starts, offset, self._flags)
        self._rows = _index_groups(events)
        self._bounds = np.array([0, *(rows.stop for rows in self._rows.values())], np.int64)
        is_inside = np.logical_or.reduceat(self._chain >= 0, self._bounds[:-1])
        self._inside = set(compress(self._rows, is_inside))
        self._metadata = _index_metadata(tables["delegate_metadata"])

    def samples(self, scales: Mapping[Group, Scale]) -> dict[Group, Samples]:
        """The samples of all signatures with events, by block and signature.

        `scales` converts the ticks of each to the target time scale.
        """
        valid = np.flatnonzero(self._flags <= _LAST_VALID_FLAG)
        bounds = np.searchsorted(valid, self._bounds).tolist()
        durations = _scale_groups(
            self._duration[valid], bounds, [scales[key] for key in self._rows]
        )
        raw, start = durations.tolist(), self._start[valid].tolist()
        per_run, flagged = self._samples_per_run(), self._flagged()
        return {
            group: Samples(
                PerfData(raw[first:last]) if first < last else None,
                start[first:last],
                self._metadata_of(group[1], valid[first:last]),
                per_run.get(group),
                flagged.get(group, []),
            )
            for group, (first, last) in zip(self._rows, pairwise(bounds), strict=True)
        }

    def is_inside(self, block: int, event_signature_id: int) -> bool:
        """Whether the signature has events on a chain in a block, that is, in the program."""
        return (block, event_signature_id) in self._inside

    def chains(self, block: int, event_signature_id: int, run: int) -> list[int]:
        """Sorted chains, without those below 0, of a signature's events in one run of a block.

        A debug event's chain is unsigned in the file, so it never equals a profile event's chain
        below 0, although both mean "outside instructions".
        """
        rows = self._rows.get((block, event_signature_id), slice(0))
        first, last = np.searchsorted(self._run[rows], [run, run + 1]).tolist()
        return [
            chain for chain in sorted(set(self._chain[rows][first:last].tolist())) if chain >= 0
        ]

    def _metadata_of(self, event_signature: int, valid: NDArray[np.int64]) -> list[bytes]:
        known = self._metadata.get(event_signature)
        if known is None:
            return []
        places = zip(self._run[valid].tolist(), self._occurrence[valid].tolist(), strict=True)
        found = [known.get(place, b"") for place in places]
        return found if any(found) else []

    def _samples_per_run(self) -> dict[Group, list[int]]:
        """Number of valid events by run, for each group with several events in a run."""
        first_of_run = np.flatnonzero(self._occurrence == 0)
        valid = self._flags <= _LAST_VALID_FLAG
        counts = np.add.reduceat(valid.astype(np.int64), first_of_run).tolist()
        bounds = np.searchsorted(first_of_run, self._bounds).tolist()
        return {
            group: counts[first:last]
            for (group, rows), (first, last) in zip(
                self._rows.items(), pairwise(bounds), strict=True
            )
            if last - first < rows.stop - rows.start
        }

    def _flagged(self) -> dict[Group, list[FlaggedSample]]:
        found = np.flatnonzero(self._flags > _LAST_VALID_FLAG)
        start, duration = self._start[found], self._duration[found].view(np.uint64)
        numbers = np.searchsorted(self._bounds, found, side="right") - 1
        columns = (numbers, self._run[found], start, start + duration, self._flags[found])
        groups, flagged = list(self._rows), dict[Group, list[FlaggedSample]]()
        for number, run, begin, end, flags in zip(*(c.tolist() for c in columns), strict=True):
            sample = FlaggedSample(run, begin, end, _describe(flags))
            flagged.setdefault(groups[number], []).append(sample)
        return flagged


def _scale_groups(
    ticks: NDArray[np.int64], bounds: Sequence[int], scales: Sequence[Scale]
) -> Floats:
    """The durations of groups, each with its own scale; groups of one scale are scaled together."""
    numbers: dict[Scale, int] = {}
    of_group = [numbers.setdefault(scale, len(numbers)) for scale in scales]
    of_row = np.repeat(np.array(of_group, np.int64), np.diff(bounds))
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(numbers)))
    durations = ticks.astype(np.float64)
    for scale, rows in zip(numbers, np.split(order, ends[:-1]), strict=False):
        durations[rows] = scale(durations[rows])
    return durations


def _low_words(decimals: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Values of a column of decimals as unsigned 64-bit numbers; arbitrary where null."""
    chunks = [chunk for chunk in decimals.chunks if len(chunk)]
    words = [np.frombuffer(chunk.buffers()[1], np.uint64) for chunk in chunks]
    parts = [
        word[2 * chunk.offset :: 2][: len(chunk)] for word, chunk in zip(words, chunks, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def _describe(flags: int) -> str:
    if flags & END_BEFORE_START:
        return "end before start, and not a 32-bit wrap"
    return "2^63 ticks or longer"


def _index_groups(events: pa.Table) -> dict[Group, slice]:
    """Rows of each group, which are adjacent, in the order of the table."""
    run, event = (events[f"{noun}_signature_id"].to_numpy() for noun in ("run", "event"))
    changes = (run[1:] != run[:-1]) | (event[1:] != event[:-1])
    firsts = np.flatnonzero(np.concatenate([np.ones(min(len(run), 1), bool), changes]))
    bounds = pairwise([*firsts.tolist(), len(run)])
    keys = zip(run[firsts].tolist(), event[firsts].tolist(), strict=True)
    return {key: slice(*rows) for key, rows in zip(keys, bounds, strict=True)}


def _index_metadata(metadata: pa.Table) -> dict[int, dict[tuple[int, int], bytes]]:
    """Metadata by event signature, then by run and occurrence."""
    index: dict[int, dict[tuple[int, int], bytes]] = {}
    for row in metadata.to_pylist():
        place = row["run_index"], row["occurrence"]
        index.setdefault(row["event_signature_id"], {})[place] = row["metadata"]
    return index


class EventPlaces:
    """Places of the events of one dump."""

    def __init__(self, profiles: ProfileSamples, logged: LoggedValues) -> None:
        self._profiles = profiles
        self._logged = logged

    def of(self, block: int, run: int, signatures: Sequence[Mapping[str, Any]]) -> list[Place]:
        """The place of each event signature of a block, that is, a run signature.

        `run` is one of the block's runs.
        """
        logged = self._find_logged_only(block, run, signatures)
        return [self._place(block, signature, logged) for signature in signatures]

    def _find_logged_only(
        self, block: int, run: int, signatures: Sequence[Mapping[str, Any]]
    ) -> set[_Ids]:
        """Ids of instructions on a chain for which a run logged values but no times."""
        events = (event for event in self._logged.of_run(run) if not event.is_output)
        logged = {event.instruction for event in events if event.instruction.chain_index >= 0}
        if not logged:
            return set()
        timed = {
            Instruction(*_ids(signature), chain)
            for signature in signatures
            for chain in self._profiles.chains(block, signature["event_signature_id"], run)
        }
        return {instruction[:3] for instruction in logged - timed}

    def _place(self, block: int, signature: Mapping[str, Any], logged: Set[_Ids]) -> Place:
        instruction, kind = signature["instruction_id"], signature["kind"]
        is_on_chain = self._profiles.is_inside(block, signature["event_signature_id"]) or (
            not signature["is_profiled"] and _ids(signature) in logged
        )
        is_inside = is_in_program(kind, instruction, is_on_chain=is_on_chain)
        return Place(
            signature["name"], kind, instruction if is_inside else None, delegate_id(signature)
        )


def delegate_id(signature: Mapping[str, Any]) -> int | str | None:
    """The delegate id of an event signature's row; None if the event is not delegated."""
    id_: int | str | None = signature["delegate_id_int"]
    return signature["delegate_id_str"] if id_ is None else id_


def _ids(signature: Mapping[str, Any]) -> _Ids:
    return (signature["instruction_id"], signature["delegate_id_int"], signature["delegate_id_str"])
