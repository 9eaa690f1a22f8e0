"""Templates: what was read and verified in full, so that its repeats need not be. Pure.

A farm runs the same programs again and again, and a program logs the same events in every run. So
most runs, and most small dumps, equal an earlier one except for times. A template says which words
must be equal and where the times are; then everything that was verified for the template holds for
its repeat too. What matches no template is read in full, so templates affect only speed.

Templates of runs live as long as their arena. Those of small dumps, and the grouping of a sequence
of events into signatures, are kept in `TEMPLATES` for the next arenas of the process.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask

EQUAL, DISTANCE, TIME, OUTSIDE = range(4)  # kinds of words; only the first must be equal

_MOST_BYTES = 8 << 20


@dataclass(frozen=True, eq=False)
class Template:
    """A run or dump in units of 8 bytes, and which of its words may differ in a repeat.

    Attributes:
        units: The units.
        is_equal: Whether both words of a unit must be equal.
        equal: Words that must be equal in the other units.
        distance: Words with a distance to a vtable, which differ by how far the repeat has moved.
        start, end: Unit of each event's time, -1 if absent.
        vtables: For a run, spans read of its tables' vtables, in bytes relative to its dump's end.
    """

    units: NDArray[np.uint64]
    is_equal: Mask
    equal: Ints
    distance: Ints
    start: Ints
    end: Ints
    vtables: Sequence[tuple[int, int]] = ()

    def is_repeated(
        self, units: NDArray[np.uint64], moved: NDArray[np.int32] | None = None
    ) -> Mask:
        """Whether each row of units repeats the template, moved by bytes from its vtables."""
        differs = units != self.units
        differs &= self.is_equal
        if moved is None:
            whole: Mask = ~differs.any(axis=1)
            return whole
        words, expected = units.view(np.int32), self.units.view(np.int32)
        same: Mask = (words[:, self.equal] == expected[self.equal]).all(axis=1)
        moves = words[:, self.distance] - expected[self.distance]
        same &= (moves == moved[:, None]).all(axis=1)
        if differs.any():
            same &= ~differs.any(axis=1)
        return same

    def read_times(
        self, units: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Starts and ends of the events of each row of units."""
        return _times(units, self.start), _times(units, self.end)


def make_template(
    units: NDArray[np.uint64],
    kinds: NDArray[np.uint8],
    start: Ints,
    end: Ints,
    vtables: Sequence[tuple[int, int]] = (),
) -> Template:
    """The template of these units, from the kind of each word and the units of the times."""
    pairs = kinds.reshape(-1, 2)
    for time in (start, end):
        pairs[time[time >= 0]] = TIME
    is_equal = (pairs == EQUAL).all(axis=1)
    equal = np.flatnonzero((kinds == EQUAL) & ~is_equal.repeat(2))
    assert not (is_equal[start[start >= 0]].any())
    assert not (is_equal[end[end >= 0]].any())
    return Template(units, is_equal, equal, np.flatnonzero(kinds == DISTANCE), start, end, vtables)


def _times(units: NDArray[np.uint64], at: Ints) -> NDArray[np.uint64]:
    times: NDArray[np.uint64] = units[:, at]
    if (at < 0).any():
        times[:, at < 0] = 0
    return times


class TemplateCache:
    """What earlier arenas of this process taught, by key, in limited memory.

    Threads may share it: entries are complete, and at worst one is lost.
    """

    def __init__(self) -> None:
        self.known: dict[Hashable, Any] = {}
        self.byte_count = 0

    def add(self, key: Hashable, entry: object, byte_count: int) -> None:
        """Keep an entry unless it is large; the cache is emptied when it is full.

        An entry that has grown is added again, with the bytes by which it grew.
        """
        if byte_count > _MOST_BYTES:
            return
        if self.byte_count + byte_count > _MOST_BYTES:
            self.clear()
        self.byte_count += byte_count
        self.known[key] = entry

    def clear(self) -> None:
        """Forget everything."""
        self.known.clear()
        self.byte_count = 0


TEMPLATES = TemplateCache()
