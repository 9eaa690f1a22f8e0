"""Time of complete runs, by run and by event: sums of decoded events. Pure.

A run is complete if it has a Method::execute and no flagged event; only such runs can be split into
parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.schemas.fields import decoded_fields
from tracehouse.ingest.schemas.rollups import EVENT_TOTALS, RUN_TOTALS
from tracehouse.ingest.tables.clocks import is_wrong
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import find_starts

_PARTS = ("method", "kernel", "delegate_call")  # in the order of RUN_TOTALS
_NO_PART = -1
_EVENT_COLUMNS = pa.schema(decoded_fields(EVENT_TOTALS))
_RUN_COLUMNS = pa.schema(decoded_fields(RUN_TOTALS))
_MIX = np.uint64(0x9E3779B97F4A7C15)


class CompleteRuns(NamedTuple):
    """Which runs are complete.

    Attributes:
        is_complete: Whether each run is; shape (runs,).
        signature: Run signature of each complete run, 0 for others; shape (runs,).
    """

    is_complete: Mask
    signature: Ints


class Totals(NamedTuple):
    """Sums over complete runs.

    Attributes:
        events: `ingest.schemas.rollups.EVENT_TOTALS` with ``dump_index`` for ``dump_id``.
        runs: Ticks in each part of each run, in order of RUN_TOTALS; shape (runs, 3).
    """

    events: pa.Table
    runs: Floats


@dataclass(frozen=True)
class RunNumbers:
    """Consecutive numbers of the runs of some dumps.

    Attributes:
        first: Number of the first run of each dump.
        count: Number of all runs.
    """

    first: Ints
    count: int

    @classmethod
    def of(cls, decoded: DecodedBatch, dump_count: int) -> RunNumbers:
        """The numbers for decoded dumps; `dump_count` includes refused dumps."""
        dumps = decoded.tables["dumps"]
        runs = np.zeros(dump_count, np.int64)
        runs[dumps["dump_index"].to_numpy()] = dumps["n_runs"].to_numpy()
        return cls(np.cumsum(runs) - runs, int(runs.sum()))


@dataclass(frozen=True)
class RunParts:
    """The part of a run that an event belongs to, by its signature.

    Attributes:
        signature: Ids of event signatures, ascending.
        part: Place of each signature's kind in RUN_TOTALS, or -1.
    """

    signature: Ints
    part: Ints

    @classmethod
    def of(cls, signatures: pa.Table) -> RunParts:
        """The parts for rows of `ingest.schemas.dumps.EVENT_SIGNATURES`, or its ids and kinds."""
        ids, first = np.unique(signatures["event_signature_id"].to_numpy(), return_index=True)
        kinds = signatures["kind"].to_numpy()[first]
        part = np.full(len(ids), _NO_PART)
        for number, kind in enumerate(_PARTS):
            part[kinds == kind] = number
        return cls(ids, part)

    def find(self, signatures: Ints) -> Ints:
        """The part of each of these signatures, which must be known."""
        return self.part[np.searchsorted(self.signature, signatures)]


class EventSums:
    """Decoded events for summing: neighbours of one signature and chain form a stretch."""

    def __init__(self, events: pa.Table, parts: RunParts, numbers: RunNumbers) -> None:
        """Index the events, with the parts of their signatures and the numbers of the runs."""
        names = ("dump_index", "run_signature_id", "event_signature_id", "chain_index")
        keys = [events[name].to_numpy() for name in names]
        self._count = numbers.count
        self._first = find_starts(keys)
        self._length = np.diff(self._first, append=events.num_rows)
        self._keys = [key[self._first] for key in keys]
        self._part = parts.find(self._keys[2])
        first_run = np.repeat(numbers.first[self._keys[0]], self._length)
        self._run = first_run + events["run_index"].to_numpy()
        self._duration = events["duration_ticks"].to_numpy()
        self._is_wrong = is_wrong(events["flags"].to_numpy())

    def complete_runs(self) -> CompleteRuns:
        """The complete runs, given all events of the dumps."""
        is_method = self._part == 0
        executed = self._run[np.repeat(is_method, self._length)]
        is_complete = np.zeros(self._count, bool)
        is_complete[executed] = True
        is_complete[self._run[self._is_wrong]] = False
        signature = np.zeros(self._count, np.int64)
        signature[executed] = np.repeat(self._keys[1][is_method], self._length[is_method])
        return CompleteRuns(is_complete, np.where(is_complete, signature, 0))

    def total(self, is_complete: Mask) -> Totals:
        """Sums over complete runs."""
        ticks = self._duration.astype(np.float64)
        left_out = np.flatnonzero(~is_complete[self._run])
        ticks[left_out] = 0
        stretch = np.searchsorted(self._first, left_out, side="right") - 1
        count = self._length - np.bincount(stretch, minlength=len(self._first))
        sums = np.add.reduceat(ticks, self._first) if len(self._first) else np.zeros(0)
        part = np.repeat(self._part, self._length)
        counted = np.flatnonzero(part != _NO_PART)
        place = self._run[counted] * len(_PARTS) + part[counted]
        runs = np.bincount(place, ticks[counted], self._count * len(_PARTS))
        by_part = runs.astype(np.float64).reshape(-1, len(_PARTS))
        return Totals(self._event_rows(count, sums), by_part)

    def _event_rows(self, count: Ints, sums: Floats) -> pa.Table:
        keys = self._keys
        if has_repeats(keys):  # chains alternate, or the dump is in pieces
            order = np.lexsort(keys[::-1])
            keys = [key[order] for key in keys]
            starts = find_starts(keys)
            keys = [key[starts] for key in keys]
            count = np.add.reduceat(count[order], starts)
            sums = np.add.reduceat(sums[order], starts)
        is_counted = count > 0
        columns = [column[is_counted] for column in (*keys, count, sums)]
        return pa.Table.from_arrays([pa.array(c) for c in columns], schema=_EVENT_COLUMNS)


def total_events(decoded: DecodedBatch, dump_count: int) -> dict[str, pa.Table]:
    """event_totals and run_totals of decoded dumps; `dump_count` includes refused dumps."""
    numbers = RunNumbers.of(decoded, dump_count)
    parts = RunParts.of(decoded.tables["event_signatures"])
    events = EventSums(decoded.tables["events"], parts, numbers)
    complete = events.complete_runs()
    totals = events.total(complete.is_complete)
    runs = run_rows(numbers, complete, totals.runs)
    return {"run_totals": runs, "event_totals": totals.events}


def run_rows(numbers: RunNumbers, complete: CompleteRuns, runs: Floats) -> pa.Table:
    """Rows of RUN_TOTALS, with ``dump_index``, of complete runs."""
    number = np.flatnonzero(complete.is_complete)
    dump = np.searchsorted(numbers.first, number, side="right") - 1
    places = dump.astype(np.int32), (number - numbers.first[dump]).astype(np.int32)
    columns = (*places, complete.signature[number], *runs[number].T)
    return pa.Table.from_arrays([pa.array(c) for c in columns], schema=_RUN_COLUMNS)


def has_repeats(keys: Sequence[Ints]) -> bool:
    """Whether rows may be equal in all keys, judged by hashes."""
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ key.astype(np.uint64)) * _MIX
    mixed.sort()
    return bool((mixed[1:] == mixed[:-1]).any())
