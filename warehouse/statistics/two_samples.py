"""Difference of two samples of dumps, and its significance: Mann-Whitney, Hodges-Lehmann. Pure.

Many pairs of samples are compared at once. A sample is a row of logarithms of dump values, filled
up with NaN; the base is the reference, and the head is judged.

Whole processes run an operator in one of several modes (by memory placement, by the core they are
on). If the pooled values have a clear gap, and the base or the head has values on both sides of
it, each value is compared with the median of its own side: `centre_modes`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import find_starts, list_alike

LARGEST_P = 0.2
_SCHEMA = pa.schema(
    [("n_small", pa.int32()), ("n_large", pa.int32()), ("u", pa.int32()), ("p", pa.float64())]
)

CONFIDENCE_P = 0.01  # The interval has 99 %
INTERVAL_Z = NormalDist().inv_cdf(1 - CONFIDENCE_P / 2)
LEAST_GAP = 0.08  # between two modes
EXACT_SIZE = 30
LEFT_OUT = 0.08  # share of values at either end, where a gap does not indicate two modes
GAP_RATIO = 8
LEAST_SHARE = 0.15  # A mode has this share of values; fewer are outliers, which ranks bear
FEW, MOST = 0.25, 0.75  # shares of slow values of both samples if the head left the base's mode
_PAIRS_AT_ONCE = 4_000_000

LEAST_DUMPS = 8  # dumps of each build in a comparison
LEAST_PAIRS = 8  # pairs of dumps in a comparison by differences
_MOST_DUMPS = 30


def exact_null_table(max_n: int = 30) -> pa.Table:
    """Two-sided p of every U that is rare for some pair of sample sizes up to `max_n` (at most 30).

    Ordered by n_small, n_large, u; one row per U with p <= 0.2, where U is the smaller of the two
    and no values are tied.
    """
    parts: list[NDArray[np.float64]] = []
    for small, counts in _arrangements(max_n):
        orders = [math.comb(small + large, small) for large in range(small, max_n + 1)]
        p = 2 * np.cumsum(counts[small:], axis=1) / np.array(orders)[:, None]
        more, u = np.nonzero(p <= LARGEST_P)
        parts.append(np.stack([np.full(len(u), small), more + small, u, p[more, u]]))
    columns = np.concatenate(parts, axis=1)
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True))).cast(_SCHEMA)


def _arrangements(max_n: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Per size m of one sample: the number of orders that give U, for each size n of the other.

    One row per n from 0, one column per U from 0 to the middle; 60 choose 30 still fits 64 bits.
    The largest value is in the first sample (and exceeds all of the other), or in the second:
    count(m, n, u) = count(m - 1, n, u - n) + count(m, n - 1, u).
    """
    n = np.arange(max_n + 1)[:, None]
    rest = np.arange(max_n**2 // 2 + 1) - n
    counts = np.zeros(rest.shape, np.int64)
    counts[:, 0] = 1
    for m in range(1, max_n + 1):
        counts = np.cumsum(np.where(rest >= 0, counts[n, rest], 0), axis=0)
        yield m, counts


class SampleComparison(NamedTuple):
    """Comparisons of two samples, one per row.

    Attributes:
        p: Two-sided p of the Mann-Whitney test; 1 without values on both sides.
        excess: Mann-Whitney U (pairs in which the head's value is greater; equal ones count half)
            minus its expectation if both are equal.
        variance: Variance of U, with ties, if both are equal; 0 without values on both sides.
        shift: Hodges-Lehmann estimate of head less base, in logarithms; NaN without values.
        low: Lower end of its 99 % interval; NaN with too few values for one.
        high: Upper end.
        is_centred: Whether each value is compared within its mode.
        base_slow: Share of the base's values on the slow side; NaN without two modes.
        head_slow: Share of the head's values on the slow side; NaN without two modes.
        split: Larger values are on the slow side; NaN without two modes.
        gap: Distance between the slow and the fast side.
        share_p: p that both have the same share on the slow side; 1 without two modes.
    """

    p: Floats
    excess: Floats
    variance: Floats
    shift: Floats
    low: Floats
    high: Floats
    is_centred: Mask
    base_slow: Floats
    head_slow: Floats
    split: Floats
    gap: Floats
    share_p: Floats

    @property
    def has_left(self) -> Mask:
        """Whether nearly all of the head are in another mode than nearly all of the base."""
        return ~np.isnan(self.split) & ~self.is_centred


def compare_samples(base: Floats, head: Floats) -> SampleComparison:
    """Compare each row of `base`, shape (pairs, n), with that of `head`, shape (pairs, m)."""
    count = len(base)
    parts = [np.full(count, np.nan) for _ in range(11)]
    centred = np.zeros(count, bool)
    for rows, base_rows, head_rows in _blocks(base, head):
        modes = centre_modes(base_rows, head_rows)
        figures = _compare(modes.base, modes.head)
        for part, values in zip(parts, (*figures, *modes[3:]), strict=True):
            part[rows] = values
        centred[rows] = modes.is_centred
    p, excess, variance, shift, low, high, *of_modes = parts
    return SampleComparison(p, excess, variance, shift, low, high, centred, *of_modes)


def _blocks(base: Floats, head: Floats) -> Iterator[tuple[Ints, Floats, Floats]]:
    """Blocks of rows of similar sizes, with sorted values, small enough to compare."""
    sizes = [np.count_nonzero(~np.isnan(sample), axis=1) for sample in (base, head)]
    for rows in list_alike(*(np.ceil(2 * np.log2(np.maximum(size, 1))) for size in sizes)):
        widths = [max(1, int(size[rows].max())) for size in sizes]
        step = max(1, _PAIRS_AT_ONCE // (widths[0] * widths[1]))
        for start in range(0, len(rows), step):
            own = rows[start : start + step]
            packed = (np.sort(sample[own], axis=1) for sample in (base, head))
            base_rows, head_rows = (
                sample[:, :width] for sample, width in zip(packed, widths, strict=True)
            )
            yield own, base_rows, head_rows


class Modes(NamedTuple):
    """Samples whose values are compared within their modes, see `SampleComparison`."""

    base: Floats
    head: Floats
    is_centred: Mask
    base_slow: Floats
    head_slow: Floats
    split: Floats
    gap: Floats
    share_p: Floats


def centre_modes(base: Floats, head: Floats) -> Modes:
    """Values minus the median of their side of the largest gap, if the gap is clear.

    The gap must be wider than 0.08 and than 8 times the median gap, without 8 % of the values at
    either end, and a sample must have 15 % of its values on each side. The medians are those of the
    sample that has both sides, or the means of both samples' medians, so that swapped samples give
    the opposite. If nearly all of the head left the side of
    nearly all of the base, the head has moved to another mode: such a pair stays unchanged.
    """
    split, _ = find_gap(np.concatenate([base, head], axis=1))
    split = split[:, None]
    with np.errstate(invalid="ignore"):
        base_is_slow, head_is_slow = base > split, head > split
    base_slow, head_slow = _share(base_is_slow, base), _share(head_is_slow, head)
    base_has_both, head_has_both = (
        (slow >= LEAST_SHARE) & (slow <= 1 - LEAST_SHARE) for slow in (base_slow, head_slow)
    )
    is_split = base_has_both | head_has_both
    has_left = (np.minimum(base_slow, head_slow) <= FEW) & (
        np.maximum(base_slow, head_slow) >= MOST
    )
    centred = is_split & ~has_left
    sides = np.full((2, len(base)), np.nan)  # the medians of the fast and of the slow side
    rows = np.flatnonzero(is_split)
    for is_slow, side in zip((False, True), sides, strict=True):
        own_base = np.where(base_is_slow[rows] == is_slow, base[rows], np.nan)
        own_head = np.where(head_is_slow[rows] == is_slow, head[rows], np.nan)
        side[rows] = _middle_of(
            (base_has_both[rows], row_median(own_base)), (head_has_both[rows], row_median(own_head))
        )
    fast, slow = sides[:, :, None]
    chosen = centred[:, None]
    return Modes(
        np.where(chosen, base - np.where(base_is_slow, slow, fast), base),
        np.where(chosen, head - np.where(head_is_slow, slow, fast), head),
        centred,
        np.where(is_split, base_slow, np.nan),
        np.where(is_split, head_slow, np.nan),
        np.where(is_split, split[:, 0], np.nan),
        (slow - fast)[:, 0],
        _share_p(is_split, base, head, base_is_slow, head_is_slow),
    )


def _middle_of(*medians: tuple[Mask, Floats]) -> Floats:
    """The mean of the medians that count, for each row."""
    total = np.sum([np.where(counts, median, 0.0) for counts, median in medians], axis=0)
    count = np.sum([counts for counts, _ in medians], axis=0)
    middle: Floats = total / np.maximum(count, 1)
    return middle


def _share_p(
    has_modes: Mask, base: Floats, head: Floats, base_is_slow: Mask, head_is_slow: Mask
) -> Floats:
    p = np.ones(len(base))
    counts = (
        _count_known(base),
        _count_known(head),
        np.count_nonzero(base_is_slow, axis=1),
        np.count_nonzero(head_is_slow, axis=1),
    )
    for row in np.flatnonzero(has_modes).tolist():
        p[row] = share_p(*(int(count[row]) for count in counts))
    return p


def row_median(rows: Floats) -> Floats:
    """The median of each row without NaN; NaN for a row of only NaN."""
    if rows.shape[1] == 0:
        return np.full(len(rows), np.nan)
    return _middle(np.sort(rows, axis=1), _count_known(rows))


def _middle(ordered: Floats, count: Ints) -> Floats:
    """The median of the first `count` values of each row, in ascending order; NaN without any."""
    low, high = np.maximum((count - 1) // 2, 0)[:, None], (count // 2)[:, None]
    high = np.minimum(high, ordered.shape[1] - 1)
    middle = np.take_along_axis(ordered, low, 1) + np.take_along_axis(ordered, high, 1)
    median: Floats = np.where(count > 0, middle[:, 0] / 2, np.nan)
    return median


@cache
def share_p(base_count: int, head_count: int, base_slow: int, head_slow: int) -> float:
    """Two-sided p of Fisher's exact test for equal shares in two samples."""
    slow, total = base_slow + head_slow, base_count + head_count
    least, most = max(0, slow - base_count), min(slow, head_count)
    ways = [
        math.comb(head_count, n) * math.comb(base_count, slow - n) for n in range(least, most + 1)
    ]
    seen = ways[head_slow - least]
    return sum(way for way in ways if way <= seen) / math.comb(total, slow)


def _share(chosen: Mask, values: Floats) -> Floats:
    share: Floats = np.count_nonzero(chosen, axis=1) / np.maximum(_count_known(values), 1)
    return share


def _count_known(values: Floats) -> Ints:
    count: Ints = np.count_nonzero(~np.isnan(values), axis=1).astype(np.int64)
    return count


def find_gap(pooled: Floats) -> tuple[Floats, Floats]:
    """Middle and width of the gap between the modes of each row; NaN without a clear gap."""
    if pooled.shape[1] < 2:
        return np.full(len(pooled), np.nan), np.full(len(pooled), np.nan)
    ordered, count = np.sort(pooled, axis=1), _count_known(pooled)
    left_out = np.ceil(LEFT_OUT * count).astype(np.int64)
    place = np.arange(ordered.shape[1] - 1)
    inside = (place >= left_out[:, None]) & (place + 1 < (count - left_out)[:, None])
    gaps = np.where(inside, np.diff(ordered, axis=1), np.nan)
    widest = np.where(inside, gaps, -1).argmax(axis=1)[:, None]
    width = np.take_along_axis(gaps, widest, 1)[:, 0]
    with np.errstate(invalid="ignore"):
        clear = (width > LEAST_GAP) & (width > GAP_RATIO * row_median(gaps))
    middle = np.take_along_axis(ordered, widest, 1)[:, 0] + width / 2
    return np.where(clear, middle, np.nan), np.where(clear, width, np.nan)


class SpeedMedians(NamedTuple):
    """The median of values on either side of a split; None for a side without values."""

    fast: float | None
    slow: float | None
    slow_count: int


def split_median(logs: Floats, split: float) -> SpeedMedians:
    """The medians of values, given as logarithms, below and above a split."""
    is_slow = logs > split
    fast, slow = (
        float(np.exp(np.median(side))) if len(side) else None
        for side in (logs[~is_slow], logs[is_slow])
    )
    return SpeedMedians(fast, slow, int(is_slow.sum()))


def _compare(base: Floats, head: Floats) -> tuple[Floats, ...]:
    """p, excess, variance, shift and the ends of its interval."""
    base_count, head_count = _count_known(base), _count_known(head)
    total = base_count * head_count
    excess, variance = _rank_test(base, head)
    p = two_sided_p(base_count, head_count, excess, variance)
    edge = np.zeros(len(base), np.int64)
    for n, m, rows in _list_sizes(base_count, head_count):
        edge[rows] = interval_rank(n, m)
    ordered = (head[:, None, :] - base[:, :, None]).reshape(len(base), -1)
    ordered.sort(axis=1)
    low, high = _pick(ordered, edge - 1, edge > 0), _pick(ordered, total - edge, edge > 0)
    return p, excess, variance, _middle(ordered, total), low, high


def _rank_test(base: Floats, head: Floats) -> tuple[Floats, Floats]:
    """The excess and the variance of the Mann-Whitney test, see `SampleComparison`."""
    pooled = np.concatenate([base, head], axis=1)
    order = np.argsort(pooled, axis=1)
    ordered = np.take_along_axis(pooled, order, 1)
    is_head = (order >= base.shape[1]) & ~np.isnan(ordered)
    rows, width = ordered.shape
    starts = np.ones((rows, width), bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]  # each NaN is its own
    first = np.flatnonzero(starts)
    row, size = first // width, np.diff(first, append=rows * width).astype(np.float64)
    heads = np.add.reduceat(is_head.ravel(), first, dtype=np.float64)
    rank_sum = np.bincount(row, heads * (first % width + (size + 1) / 2), minlength=rows)
    ties = np.bincount(row, size**3 - size, minlength=rows)
    n, m = _count_known(base).astype(np.float64), _count_known(head).astype(np.float64)
    total = n + m
    spread = total + 1 - ties / np.maximum(total * (total - 1), 1)
    excess: Floats = rank_sum - m * (total + 1) / 2
    variance: Floats = n * m / 12 * np.maximum(spread, 0)
    return np.where(n > 0, excess, 0.0), variance


def _list_sizes(base_count: Ints, head_count: Ints) -> Iterator[tuple[int, int, Ints]]:
    """The existing pairs of sizes, and the rows of each."""
    for rows in list_alike(base_count, head_count):
        yield int(base_count[rows[0]]), int(head_count[rows[0]]), rows


def _pick(ordered: Floats, place: Ints, there: Mask) -> Floats:
    at = np.where(there, place, 0)[:, None]
    picked: Floats = np.where(there, np.take_along_axis(ordered, at, 1)[:, 0], np.nan)
    return picked


def two_sided_p(base_count: Ints, head_count: Ints, excess: Floats, variance: Floats) -> Floats:
    """p of each Mann-Whitney test: exact to 30 values a side where below 0.2, else normal.

    With ties, the exact U is rounded to the less significant side; 1 without values on both sides.
    """
    p = normal_p(excess, variance)
    for n, m, rows in _list_sizes(base_count, head_count):
        if n * m and max(n, m) <= EXACT_SIZE:
            exact = np.array(_exact_p(min(n, m), max(n, m)))
            place = np.ceil(n * m / 2 - np.abs(excess[rows])).astype(np.int64)
            is_exact = place < len(exact)
            p[rows] = np.maximum(p[rows], LARGEST_P)
            p[rows[is_exact]] = exact[place[is_exact]]
    return p


def normal_p(excess: Floats, variance: Floats) -> Floats:
    """Two-sided p of each Mann-Whitney test by the normal distribution, continuity-corrected."""
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.maximum(np.abs(excess) - 0.5, 0) / np.sqrt(2 * variance)
    distance[~(variance > 0)] = 0
    p: Floats = np.array([math.erfc(each) for each in distance.tolist()])
    return p


def least_p(base_count: Ints, head_count: Ints) -> Floats:
    """The least p that samples of each of these sizes can give."""
    width = int(head_count.max(initial=0)) + 1
    sizes, place = np.unique(base_count * width + head_count, return_inverse=True)
    base_count, head_count = np.divmod(sizes, width)
    pairs = (base_count * head_count).astype(np.float64)
    variance = pairs / 12 * (base_count + head_count + 1)
    return two_sided_p(base_count, head_count, pairs / 2, variance)[place]


@cache
def interval_rank(base_count: int, head_count: int) -> int:
    """The rank, from either end, of the differences that bound the 99 % interval; 0 if too few."""
    if base_count == 0 or head_count == 0:
        return 0
    if max(base_count, head_count) <= EXACT_SIZE:
        exact = _exact_p(min(base_count, head_count), max(base_count, head_count))
        return sum(p <= CONFIDENCE_P for p in exact)
    pairs = base_count * head_count
    spread = INTERVAL_Z * math.sqrt(pairs * (base_count + head_count + 1) / 12)
    return max(0, math.floor(pairs / 2 - spread + 0.5))


@cache
def _exact_p(small: int, large: int) -> tuple[float, ...]:
    """p by U, as far as the table goes."""
    return _exact_table().get((small, large), ())


@cache
def _exact_table() -> dict[tuple[int, int], tuple[float, ...]]:
    table = exact_null_table(EXACT_SIZE)
    small, large, p = (table[name].to_numpy() for name in ("n_small", "n_large", "p"))
    first = find_starts([small, large])
    stops = np.append(first[1:], len(p))
    return {
        (int(small[start]), int(large[start])): tuple(p[start:stop].tolist())
        for start, stop in zip(first.tolist(), stops.tolist(), strict=True)
    }


def find_smallest_changes(values: Floats) -> Floats:
    """The change that as many dumps on either side could show, per row of logarithms.

    The result is the upper end of the 99 % interval of a comparison with dumps of the same kind:
    its rank among the differences of two samples, applied to those within one. NaN with too few
    values.
    """
    count = np.count_nonzero(~np.isnan(values), axis=1)
    changes = np.full(len(values), np.nan)
    for n in np.unique(count).tolist():
        rank = interval_rank(n, n)
        if rank:
            rows = np.flatnonzero(count == n)
            own = np.sort(values[rows], axis=1)[:, :n]
            others = ~np.eye(n, dtype=bool)
            place = math.ceil((1 - (rank - 0.5) / n**2) * n * (n - 1))
            for row, each in zip(rows.tolist(), own, strict=True):
                differences = (each[:, None] - each[None, :])[others]
                changes[row] = np.partition(differences, place - 1)[place - 1]
    return changes


def find_needed_dumps(p: Floats) -> Floats:
    """The least dumps on either side, 8 to 30, that can give each p; NaN if none can."""
    sizes = np.arange(LEAST_DUMPS, _MOST_DUMPS + 1)
    least = np.array([2 / math.comb(2 * n, n) for n in sizes.tolist()])
    place = np.count_nonzero(least[None, :] > p[:, None], axis=1)
    needed: Floats = np.where(place < len(sizes), place + float(LEAST_DUMPS), np.nan)
    return needed
