"""The build from which on a series of builds is most likely slower or faster. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warehouse.statistics.arrays import Floats, Ints
from warehouse.statistics.two_samples import compare_samples, least_p, rank_test, two_sided_p

_SPLITS = range(2, 9)  # builds from the last one that may be the first of a new level
_BUILDS_BEFORE = 10  # so the last 18 builds count: sql/filters/scanned_values.sql reads no others
_WORTH_A_SHIFT = 1e-4  # p


class ChangePoints(NamedTuple):
    """The most likely change of each series.

    Attributes:
        split: The first build of the new level, counted from the last one, which is 1; 0 if there
            are fewer than 3 builds.
        p: Two-sided p of the Mann-Whitney test of the builds from it on against up to 10 before;
            NaN as
            well.
        least_p: The least p that any split of so many dumps could give; NaN as well.
        shift: Hodges-Lehmann estimate of the change, in logarithms; NaN where p is above 1e-4.
    """

    split: Ints
    p: Floats
    least_p: Floats
    shift: Floats


def find_change_points(values: Floats, back: Floats) -> ChangePoints:
    """Try the last builds of each series as the first of a new level, and choose the clearest.

    Args:
        values: Logarithms of the dumps' values, NaN to fill rows up; shape (series, dumps).
        back: Build of each value, counted from the last one of the series, which is 1.
    """
    rows = len(values)
    found = ChangePoints(np.zeros(rows, np.int64), *(np.full(rows, np.nan) for _ in range(3)))
    distance = np.full(rows, -1.0)
    for split in _SPLITS:
        base, head = _sides(values, back, np.full(rows, split))
        n, m = (np.count_nonzero(~np.isnan(side), axis=1) for side in (base, head))
        excess, variance = rank_test(base, head)
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.where(variance > 0, np.maximum(np.abs(excess) - 0.5, 0) / np.sqrt(variance), 0)
        is_there = n > 0
        found.least_p[is_there] = np.fmin(found.least_p, least_p(n, m))[is_there]
        better = np.flatnonzero(is_there & (z > distance))
        distance[better], found.split[better] = z[better], split
        found.p[better] = two_sided_p(n, m, excess, variance)[better]
    worth = np.flatnonzero(found.p <= _WORTH_A_SHIFT)
    sides = _sides(values[worth], back[worth], found.split[worth])
    found.shift[worth] = compare_samples(*sides, has_modes=False).shift
    return found


def _sides(values: Floats, back: Floats, split: Ints) -> tuple[Floats, Floats]:
    """The values before and after."""
    is_after = back <= split[:, None]
    is_before = ~is_after & (back <= split[:, None] + _BUILDS_BEFORE)
    return np.where(is_before, values, np.nan), np.where(is_after, values, np.nan)
