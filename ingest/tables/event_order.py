"""The row of each profile event in the table of events, computed without sorting. Pure.

The table is ordered by dump, run signature, event signature, run and occurrence. The runs of a dump
with the same run signature are a block; nearly always they have the same layout, too (unless loops
differ in length). Then the row of an event follows from the number of its run in the block and from
its slot, which is its place in the layout:

    row = block's first row + before * runs in the block + run's number * alike + repeat

An example: two runs, both with the layout A B A (signature A has rank 0, B rank 1).

    slot      before  alike  repeat   row in run 0   row in run 1
    A (1st)     0       2      0            0              2
    B           2       1      0            4              5
    A (2nd)     0       2      1            1              3

So the table reads A A (run 0), A A (run 1), B (run 0), B (run 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints
from tracehouse.ingest.etdump.dumps import Dumps, StoredRuns
from tracehouse.ingest.etdump.layouts import Layout


class Slots:
    """The profile events of all layouts, concatenated, one column per attribute.

    Attributes:
        rank: Rank of the event's signature in its layout.
        repeat: How often the signature occurs in the layout before the event.
        occurrence: How often the signature occurs in the run before the event.
        chain: Chain of the event.
        signature_id: Id of the event's signature.
        before: How many events of its layout have a lower rank.
        alike: How many events of its layout have its signature, itself included.
        has_loops: Whether any signature occurs more than once in a layout.
        first: First slot of each layout; the last item is for runs without a layout (-1).
    """

    def __init__(self, layouts: list[Layout]) -> None:
        none = np.zeros(0, np.int64)
        self.rank = np.concatenate([none, *(x.rank for x in layouts)])
        self.repeat = np.concatenate([none, *(x.occurrence for x in layouts)]).astype(np.int32)
        self.occurrence = self.repeat
        if len(layouts) == 1 and layouts[0].earlier is not None:  # a piece of a run
            earlier = layouts[0].earlier[layouts[0].rank]
            self.occurrence = (self.repeat + earlier).astype(np.int32)
        self.chain = np.concatenate([none, *(x.chain for x in layouts)]).astype(np.int32)
        self.signature_id = np.concatenate([none, *(x.signature_ids[x.rank] for x in layouts)])
        length = np.array([len(x.rank) for x in layouts] + [0], np.int64)
        self.first = np.cumsum(length) - length
        layout = np.repeat(np.arange(len(length)), length)
        width = np.array([len(x.signature_ids) for x in layouts] + [0], np.int64)
        group = (np.cumsum(width) - width)[layout] + self.rank
        counts = np.bincount(group, minlength=int(width.sum()))
        self.before = (np.cumsum(counts) - counts)[group] - self.first[layout]
        self.alike = counts[group]
        self.has_loops = bool((self.alike > 1).any())


class EventGrid:
    """Stored events of some runs, 2-dimensional if the runs share a layout, else 1-dimensional."""

    def __init__(self, stored: StoredRuns, dumps: Dumps, slots: Slots) -> None:
        self._run = stored.run
        first = slots.first[dumps.layout[stored.run]]
        self._counts = dumps.counts[stored.run]
        if stored.is_uniform and len(first):
            self._slot: Ints | slice = slice(first[0], first[0] + self._counts[0])
            self.shape: tuple[int, ...] = (len(self._run), int(self._counts[0]))
            return
        total = int(self._counts.sum())
        begin = np.cumsum(self._counts) - self._counts
        self._slot = np.arange(total) + np.repeat(first - begin, self._counts)
        self.shape = (total,)

    def of_runs(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values per run of the arena, as an array that broadcasts to `shape`."""
        own = values[self._run]
        return own[:, None] if len(self.shape) == 2 else np.repeat(own, self._counts)

    def of_slots(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values per slot, as an array that broadcasts to `shape`."""
        return values[self._slot]


@dataclass(frozen=True)
class Order:
    """The order of the events table.

    Attributes:
        sheets: The stored events.
        rows: Row in the table of each stored event.
        sample: A run of each block, block after block.
        counts: Events of each block.
    """

    sheets: list[EventGrid]
    rows: Ints
    sample: Ints
    counts: Ints

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of the table from a value per stored event."""
        column = np.empty(len(self.rows), values.dtype)
        column[self.rows] = values
        return column

    def spread_runs(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of the table from a value per run."""
        return self.spread(self._flat(sheet.of_runs(values) for sheet in self.sheets))

    def spread_slots(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of the table from a value per slot."""
        if len(values) and (values == values[0]).all():
            return np.full(len(self.rows), values[0])
        return self.spread(self._flat(sheet.of_slots(values) for sheet in self.sheets))

    def spread_blocks(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of the table from a value per run that is equal for all runs of a block."""
        return np.repeat(values[self.sample], self.counts)

    def _flat(self, parts: Iterator[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(
            [
                np.broadcast_to(part, sheet.shape).ravel()
                for part, sheet in zip(parts, self.sheets, strict=True)
            ]
        )


def order_events(dumps: Dumps, slots: Slots) -> Order:
    """The order of the profile events of some dumps."""
    _, signature = np.unique(dumps.signature_id, return_inverse=True)
    key = dumps.heads.run_dump * (len(signature) + 1) + signature
    _, sample, block = np.unique(key, return_index=True, return_inverse=True)
    counts = np.bincount(block, dumps.counts, len(sample)).astype(np.int64)
    base = np.cumsum(counts) - counts
    run_count = np.bincount(block, minlength=len(sample))
    number = np.empty(len(block), np.int64)
    number[np.argsort(block, kind="stable")] = np.arange(len(block)) - np.repeat(
        np.cumsum(run_count) - run_count, run_count
    )
    first_row, run_count = base[block], run_count[block]
    sheets = [EventGrid(stored, dumps, slots) for stored in dumps.stored]
    parts = []
    for sheet in sheets:
        rows = sheet.of_runs(run_count) * sheet.of_slots(slots.before)
        if slots.has_loops:
            rows += sheet.of_runs(number) * sheet.of_slots(slots.alike)
            rows += sheet.of_runs(first_row) + sheet.of_slots(slots.repeat)
        else:
            rows += sheet.of_runs(first_row + number)
        parts.append(rows.ravel())
    rows = np.concatenate(parts)
    differing = block[dumps.layout != dumps.layout[sample][block]]
    if len(differing):
        _sort_mixed(rows, dumps, slots, block, np.isin(block, differing))
    return Order(sheets, rows, sample, counts)


def _sort_mixed(
    rows: Ints, dumps: Dumps, slots: Slots, block: Ints, is_mixed: NDArray[np.bool_]
) -> None:
    """Correct the rows of runs in blocks whose runs have several layouts."""
    run = np.concatenate([stored.run for stored in dumps.stored])
    sheet = EventGrid(StoredRuns(run, is_uniform=False), dumps, slots)
    mixed = np.flatnonzero(sheet.of_runs(is_mixed))
    keys = [sheet.of_runs(np.arange(len(block))), sheet.of_slots(slots.rank), sheet.of_runs(block)]
    order = np.lexsort([key[mixed] for key in keys])
    places = np.sort(sheet.of_runs(block)[mixed], kind="stable")
    counts = np.bincount(places)
    base = np.cumsum(np.bincount(block, dumps.counts)).astype(np.int64)
    first = base[: len(counts)] - counts
    rows[mixed[order]] = (
        first[places] + np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
    )
