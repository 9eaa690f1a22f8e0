"""The nesting of events, from their times alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_LANES = 64
NO_LANE = -1


class Nesting(NamedTuple):
    """The nesting of a sequence of events.

    Attributes:
        depths: Number of events around each event.
        parents: Position of the innermost event around each event; -1 without any.
        lanes: The first lane in which each event is nested in or disjoint from all others;
            overlapping events have different lanes. NO_LANE if MOST_LANES are not enough.
    """

    depths: list[int]
    parents: list[int]
    lanes: list[int]


def nest(starts: Sequence[float], ends: Sequence[float]) -> Nesting:
    """The nesting of events, which are sorted by start and, for equal starts, longest first.

    An event that ends before or when another one starts does not contain it.

    >>> nest([0, 1, 5], [9, 4, 8])
    Nesting(depths=[0, 1, 1], parents=[-1, 0, 0], lanes=[0, 0, 0])
    >>> nest([0, 5], [10, 15]).lanes
    [0, 1]
    """
    found = Nesting([], [], [])
    holders: list[int] = []
    lanes: list[list[float]] = []  # ends of the open events of each lane
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while holders and (ends[holders[-1]] <= start or ends[holders[-1]] < end):
            holders.pop()
        found.depths.append(len(holders))
        found.parents.append(holders[-1] if holders else -1)
        found.lanes.append(_lane(lanes, start, end))
        holders.append(i)
    return found


def _lane(lanes: list[list[float]], start: float, end: float) -> int:
    for number, open_until in enumerate(lanes):
        while open_until and open_until[-1] <= start:
            open_until.pop()
        if not open_until or open_until[-1] >= end:
            open_until.append(end)
            return number
    if len(lanes) == MOST_LANES:
        return NO_LANE
    lanes.append([end])
    return len(lanes) - 1
