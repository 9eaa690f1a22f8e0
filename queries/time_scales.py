"""Units of clock ticks and of reported durations, named as the Inspector names them. Pure."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

from warehouse.errors import QueryError


class TimeScale(StrEnum):
    """Unit of a clock's ticks or of reported durations."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


_NS = {TimeScale.NS: 1, TimeScale.US: 10**3, TimeScale.MS: 10**6, TimeScale.S: 10**9}


def target_per_source(source: TimeScale, target: TimeScale) -> Fraction:
    """How many target units one source unit is.

    Raises:
        QueryError: if one of them is cycles and the other is not.

    >>> target_per_source(TimeScale.NS, TimeScale.MS)
    Fraction(1, 1000000)
    """
    if source == target:
        return Fraction(1)
    if TimeScale.CYCLES in (source, target):
        raise QueryError(
            f"cannot convert {source} to {target}: cycles have no fixed length, "
            "so give both time scales as cycles or neither"
        )
    return Fraction(_NS[source], _NS[target])
