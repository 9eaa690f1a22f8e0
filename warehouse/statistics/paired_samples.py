"""Comparison of builds recorded in pairs of dumps: Wilcoxon's signed-rank test. Pure.

The state of the device at the moment of a pair affects both dumps, and cancels in their difference.
Many lists of pairs are compared at once: a row of logarithms for each build, with partners at the
same position, padded with NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.two_samples import (
    CONFIDENCE_P,
    EXACT_SIZE,
    INTERVAL_Z,
    centre_modes,
    least_p,
    normal_p,
)

_LEAST_ERROR = 0.001  # smallest error of a device's shift; limits its weight

_AVERAGES_AT_ONCE = 4_000_000


class PooledComparison(NamedTuple):
    """Combined comparisons, one per row; see `SampleComparison`."""

    p: Floats
    excess: Floats
    variance: Floats
    shift: Floats
    low: Floats
    high: Floats


def pool_samples(
    excess: Floats, variance: Floats, shift: Floats, low: Floats, high: Floats
) -> PooledComparison:
    """Combine the comparisons of each row, without NaN; all of shape (pools, devices).

    Mann-Whitney's U and its variance are summed (van Elteren). The shift is the mean of the shifts,
    weighted by the inverse of the squared error, which is at least 0.1 %.
    """
    weight = np.maximum((high - low) / 2 / INTERVAL_Z, _LEAST_ERROR) ** -2
    total = _sum(weight)
    sums = _sum(excess), _sum(variance)
    mean, width = _sum(shift * weight) / total, INTERVAL_Z / np.sqrt(total)
    return PooledComparison(normal_p(*sums), *sums, mean, mean - width, mean + width)


def _sum(rows: Floats) -> Floats:
    """The sum of each row, independent of the order of its values."""
    total: Floats = np.nansum(np.sort(rows, axis=1), axis=1)
    return total


class PairedComparison(NamedTuple):
    """Comparisons of pairs of dumps, one per row.

    Attributes:
        p: Two-sided p of the test.
        least_p: The least p that as many pairs can give.
        excess: Wilcoxon's W (pairs of pairs with a mean difference above 0, including each pair
            with
            itself; those of 0 count half) minus its expectation if both builds are equal.
        variance: Variance of W if both builds are equal.
        shift: Hodges-Lehmann estimate of head less base: the median of the mean differences.
        low: Lower end of its 99 % interval; NaN with fewer than 8 pairs.
        high: Upper end.
        mode_p: p that both builds have the same share of slow processes; NaN without two modes.
        base_slow: Dumps of the base at the slower of two speeds; NaN without two modes.
        head_slow: Dumps of the head at it, likewise.
    """

    p: Floats
    least_p: Floats
    excess: Floats
    variance: Floats
    shift: Floats
    low: Floats
    high: Floats
    mode_p: Floats
    base_slow: Floats
    head_slow: Floats


def compare_pairs(base: Floats, head: Floats) -> PairedComparison:
    """Compare the partners of each row of `base` and `head`, both of shape (rows, pairs).

    If there are two modes, each value counts relative to the centre of its mode: see
    `centre_modes`. The test is exact up to 30 pairs. If all differences have the same sign, ranks
    carry no further information, and p is that of Student's t test if smaller, but never below the
    least p of a Mann-Whitney test of as many dumps. Results are NaN for a row without pairs.
    """
    parts = np.full((len(PairedComparison._fields), len(base)), np.nan)
    for n, rows in _blocks(base, head):
        sides = (side[rows][~np.isnan(side[rows])].reshape(-1, n) for side in (base, head))
        modes = centre_modes(*sides)
        has_modes = ~np.isnan(modes.split)
        mode_p = np.where(has_modes, modes.share_p, np.nan)
        slow = (np.rint(share * n) for share in (modes.base_slow, modes.head_slow))
        parts[:, rows] = (*_compare(modes.head - modes.base), mode_p, *slow)
    return PairedComparison(*parts)


def _blocks(base: Floats, head: Floats) -> Iterator[tuple[int, Ints]]:
    """Rows with the same number of pairs, few enough to compare, and that number."""
    count = np.count_nonzero(~np.isnan(base) & ~np.isnan(head), axis=1)
    for n in np.unique(count[count > 0]).tolist():
        rows = np.flatnonzero(count == n)
        step = max(1, _AVERAGES_AT_ONCE // (n * (n + 1)))
        for start in range(0, len(rows), step):
            yield n, rows[start : start + step]


def _compare(differences: Floats) -> tuple[Floats, ...]:
    """p, least p, excess, variance, shift and the ends of its interval."""
    rows, n = differences.shape
    first, second = np.triu_indices(n)
    averages = (differences[:, first] + differences[:, second]) / 2
    averages.sort(axis=1)
    total = averages.shape[1]
    above = np.count_nonzero(averages > 0, axis=1) + np.count_nonzero(averages == 0, axis=1) / 2
    excess = above - total / 2
    variance = np.full(rows, n * (n + 1) * (2 * n + 1) / 24)
    least = least_p(np.array([n]), np.array([n]))[0]
    p = _two_sided_p(n, excess, variance)
    is_one_sided = np.abs(excess) == total / 2
    p[is_one_sided] = np.minimum(p, np.maximum(_student_p(differences), least))[is_one_sided]
    edge = interval_rank(n)
    low = averages[:, edge - 1] if edge else np.full(rows, np.nan)
    high = averages[:, total - edge] if edge else np.full(rows, np.nan)
    middle = (averages[:, (total - 1) // 2] + averages[:, total // 2]) / 2
    return p, np.full(rows, least), excess, variance, middle, low, high


def _two_sided_p(n: int, excess: Floats, variance: Floats) -> Floats:
    """p of the signed ranks; a fractional W is rounded to the less significant number."""
    if n > EXACT_SIZE:
        return normal_p(excess, variance)
    exact = np.array(_exact_p(n))
    place = np.ceil(n * (n + 1) / 4 - np.abs(excess)).astype(np.int64)
    p: Floats = exact[np.minimum(place, len(exact) - 1)]
    return p


@cache
def _exact_p(n: int) -> tuple[float, ...]:
    """Two-sided p by W, the smaller of the two, if no differences are tied or 0."""
    ways = np.zeros(n * (n + 1) // 2 + 1, np.int64)
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    p = 2 * np.cumsum(ways)[: n * (n + 1) // 4 + 1] / 2.0**n
    return tuple(np.minimum(p, 1.0).tolist())


@cache
def interval_rank(n: int) -> int:
    """The rank, from either end, of the mean differences that bound the interval; 0 if too few."""
    if n <= EXACT_SIZE:
        return sum(p <= CONFIDENCE_P for p in _exact_p(n))
    spread = INTERVAL_Z * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(0, math.floor(n * (n + 1) / 4 - spread + 0.5))


def _student_p(differences: Floats) -> Floats:
    """Two-sided p of the t test; 1 of one pair, 0 if all differences are equal."""
    n = differences.shape[1]
    if n < 2:
        return np.ones(len(differences))
    error = differences.std(axis=1, ddof=1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return student_p(np.abs(differences.mean(axis=1)) / error, n - 1)


def student_p(t: Floats, freedom: int) -> Floats:
    """Two-sided p of Student's t, as a finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = np.arctan(t / math.sqrt(freedom))
    cosine, is_odd = np.cos(angle), freedom % 2
    term = cosine if is_odd else np.ones(len(t))
    total = np.zeros(len(t)) if freedom == 1 else term
    for power in range(2 + is_odd, freedom - 1, 2):
        term = term * cosine**2 * (power - 1) / power
        total = total + term
    inside = np.sin(angle) * total
    p: Floats = np.clip(1 - (2 / math.pi * (angle + inside) if is_odd else inside), 0, 1)
    return p
