"""Which events lie within which, told by their times alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_LANES = 64
NO_LANE = -1


class Nesting(NamedTuple):
    """Where each event of a sequence stands.

    Attributes:
        depths: How many events hold it.
        parents: Position of the innermost event that holds it; -1 without any.
        lanes: The first lane in which it lies wholly within or wholly beside every other; events
            that overlap have lanes of their own. NO_LANE where MOST_LANES are not enough.
    """

    depths: list[int]
    parents: list[int]
    lanes: list[int]

    @property
    def lane_count(self) -> int:
        """Lanes in use."""
        return max(self.lanes, default=NO_LANE) + 1


def nest(starts: Sequence[float], ends: Sequence[float]) -> Nesting:
    """The nesting of events in order of their starts, of equal ones the longest first.

    An event that ends before another one starts, or with its start, does not hold it.

    >>> nest([0, 1, 5], [9, 4, 8])
    Nesting(depths=[0, 1, 1], parents=[-1, 0, 0], lanes=[0, 0, 0])
    >>> nest([0, 5], [10, 15]).lanes
    [0, 1]
    """
    found = Nesting([], [], [])
    holders: list[int] = []
    lanes: list[list[float]] = []  # of each the ends of events that are open
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
