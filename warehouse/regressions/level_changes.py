"""Series that move to another level, and what their builds say of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.history import SeriesHistory, gather_values
from warehouse.regressions.mode_shares import Modes, ShareChange, compare_shares, count_slow
from warehouse.statistics.two_samples import SampleComparison, compare_samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class LevelChange:
    """A series that moved to another level.

    Attributes:
        series: Number of the series.
        direction: 1 for slower, -1 for faster.
        suspected: Build of the first hit.
        first_bad: First build at the new level.
        last_good: Last build with dumps before it.
        base: Builds of the old level, at most those of a base.
        is_loud: Whether the first hit was worth a word before it was confirmed.
        is_framed: Whether it is judged without the family's shifts.
        shift: How far it moved, a logarithm.
        errors: Of 1, 2, ... builds in a row, as they were known at the suspicion.
        p_adjusted: p of the night that found it, after Benjamini-Hochberg.
        confirmed: Build that confirmed it; None as long as it is suspected.
        fixed: First build that was back at the old level; None as long as it is not.
        back: Nights in a row that were back.
        pool: Series of the pool that shows it, where the series by itself does not.
        pool_shift: How far the pool moved, if so.
        modes: Its modes, where the share of slow dumps is what moved; `shift` is then what that
            does to the mean.
    """

    series: int
    direction: int
    suspected: int
    first_bad: int
    last_good: int
    base: Ints
    is_loud: bool
    is_framed: bool
    shift: float
    errors: list[float]
    p_adjusted: float
    confirmed: int | None = None
    fixed: int | None = None
    back: list[int] = field(default_factory=list)
    pool: int | None = None
    pool_shift: float = 0.0
    modes: Modes | None = None


def compare_builds(
    history: SeriesHistory, shifts: Floats, pairs: Sequence[tuple[LevelChange, Ints, Ints]]
) -> SampleComparison:
    """Compare some builds of changed series with others, in the frame of each change.

    Args:
        history: The values.
        shifts: Shift of each family in each build; shape (families, builds).
        pairs: Changes, each with the builds of the base and those of the head.
    """
    series = np.array([change.series for change, _, _ in pairs], np.int64)
    framed = np.array([change.is_framed for change, _, _ in pairs], bool)
    offset = shifts[history.series.family[series]] * framed[:, None]
    chosen = np.zeros((2, len(pairs), history.build_count), bool)
    for row, (_, base, head) in enumerate(pairs):
        chosen[0, row, base] = True
        chosen[1, row, head] = True
    return compare_samples(*(gather_values(history, series, each, offset) for each in chosen))


def compare_mode_shares(
    history: SeriesHistory, shifts: Floats, change: LevelChange, nights: Ints
) -> ShareChange:
    """The share of slow dumps of some nights against that of a change's base.

    Raises:
        ValueError: The change is none of modes.
    """
    if change.modes is None:
        raise ValueError("not a change of the share of slow dumps")
    offset = shifts[history.series.family[change.series]] * change.is_framed
    base, head = (
        count_slow(history, offset, change.series, each, change.modes.split)
        for each in (change.base, nights)
    )
    return compare_shares(base, head, change.modes.gap)


def share_of_change(
    history: SeriesHistory, shifts: Floats, medians: Floats, change: LevelChange, night: int
) -> float:
    """How far a night is from the old level of a change: 0 for there, 1 for the new level.

    Args:
        history: The values.
        shifts: Shift of each family in each build; shape (families, builds).
        medians: Median of each cell; shape (series, builds).
        change: The change.
        night: The night.
    """
    if change.modes is not None:
        found = compare_mode_shares(history, shifts, change, np.array([night]))
        return found.moved / change.shift
    offset = shifts[history.series.family[change.series]] * change.is_framed
    level = medians[change.series] - offset
    return float((level[night] - np.median(level[change.base])) / change.shift)
