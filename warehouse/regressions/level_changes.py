"""Series that move to another level, and what their builds say of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.history import SeriesHistory, gather_values
from warehouse.statistics.two_samples import SampleComparison, compare_samples

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
        reaction: How many times the state of a dump is taken from its values; 0 where the values
            decide as they are.
        shift: How far it moved, a logarithm.
        errors: Of 1, 2, ... builds in a row, as they were known at the suspicion.
        p_adjusted: p of the night that found it, after Benjamini-Hochberg.
        confirmed: Build that confirmed it; None as long as it is suspected.
        fixed: First build that was back at the old level; None as long as it is not.
        back: Nights in a row that were back.
        pool: Series of the pool that shows it, where the series by itself does not.
        pool_shift: How far the pool moved, if so.
    """

    series: int
    direction: int
    suspected: int
    first_bad: int
    last_good: int
    base: Ints
    is_loud: bool
    reaction: float
    shift: float
    errors: list[float]
    p_adjusted: float
    confirmed: int | None = None
    fixed: int | None = None
    back: list[int] = field(default_factory=list)
    pool: int | None = None
    pool_shift: float = 0.0

    @property
    def is_framed(self) -> bool:
        """Whether it is judged by values without the states of the device."""
        return self.reaction != 0


def compare_builds(
    history: SeriesHistory, pairs: Sequence[tuple[LevelChange, Ints, Ints]]
) -> SampleComparison:
    """Compare some builds of changed series with others, in the frame of each change.

    Args:
        history: The values.
        pairs: Changes, each with the builds of the base and those of the head.
    """
    series = np.array([change.series for change, _, _ in pairs], np.int64)
    reaction = np.array([change.reaction for change, _, _ in pairs])
    chosen = np.zeros((2, len(pairs), history.build_count), bool)
    for row, (_, base, head) in enumerate(pairs):
        chosen[0, row, base] = True
        chosen[1, row, head] = True
    return compare_samples(*(gather_values(history, series, each, reaction) for each in chosen))
