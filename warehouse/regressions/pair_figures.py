"""Statistics of the series of two builds, and of pools of devices. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.pair_dumps import NO_PAIR, PairDumps
from tracehouse.warehouse.regressions.pair_series import PairSeries, PairValues, greatest
from tracehouse.warehouse.regressions.series_values import number_rows
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.paired_samples import compare_pairs, pool_samples
from tracehouse.warehouse.statistics.runs import list_alike, places_in_runs
from tracehouse.warehouse.statistics.two_samples import (
    LEAST_PAIRS,
    compare_samples,
    least_p,
    row_median,
)

POOL = "pool"
_POOLED = ("method", "delegate", "operator")  # levels
_OPERATOR = ("pool", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
_VALUES_AT_ONCE = 4_000_000


class PairFigures(NamedTuple):
    """Statistics of series; NaN where unknown.

    Attributes:
        base_count: Dumps of the base that count; of a pair, pairs.
        head_count: Dumps of the head, likewise.
        base_value: Median of the base's values; of a pool, the mean over its devices.
        head_value: Median of the head's values, likewise.
        p: Two-sided p that both builds are equal.
        least_p: The least p that as many dumps can give.
        excess: Excess of the ranks of the head; see `SampleComparison`.
        variance: Its variance.
        shift: Change from base to head, in log time.
        low: Lower end of its interval.
        high: Upper end.
        mode_p: p that both builds have the same share of slow processes; NaN without two modes.
        base_slow: Dumps of the base at the slower of two speeds; NaN without two modes.
        head_slow: Dumps of the head at it, likewise.
        is_paired: Whether differences in pairs of dumps are compared.
    """

    base_count: Ints
    head_count: Ints
    base_value: Floats
    head_value: Floats
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
    is_paired: Mask


def compare_series(series: PairSeries, dumps: PairDumps) -> PairFigures:
    """Both builds of each series as two samples, or as pairs of dumps if there are enough."""
    count = len(series.floor)
    counts = (np.zeros(count, np.int64) for _ in range(2))
    unknown = (np.full(count, np.nan) for _ in range(12))
    figures = PairFigures._make([*counts, *unknown, np.zeros(count, bool)])
    known = ~np.isnan(series.values.value)
    values = series.values.take(known)
    pair = dumps.pair[values.dump]
    pairs, pair_count = _find_pairs(values, pair, count)
    is_paired = pair_count >= LEAST_PAIRS
    figures.is_paired[is_paired] = True
    _compare_samples(figures, values.take(~is_paired[values.series]), count)
    own = pairs[is_paired[values.series[pairs]]]
    _compare_pairs(figures, values.take(own), pair[own], count)
    return figures


def _find_pairs(values: PairValues, pair: Ints, count: int) -> tuple[Ints, Ints]:
    """Places of values whose partner has a value too; and the number of pairs of each series."""
    paired = np.flatnonzero(pair != NO_PAIR)
    width = int(pair.max(initial=0)) + 1
    cell, inverse, size = np.unique(
        values.series[paired] * width + pair[paired], return_inverse=True, return_counts=True
    )
    is_whole = size == 2
    return paired[is_whole[inverse]], np.bincount(cell[is_whole] // width, minlength=count)


def _compare_samples(figures: PairFigures, values: PairValues, count: int) -> None:
    counts = [np.bincount(values.series[own], minlength=count) for own in _sides(values)]
    figures.base_count[:], figures.head_count[:] = counts
    for rows, samples in _rows_of(values, counts):
        base, head = (sample[0] for sample in samples)
        figures.base_value[rows], figures.head_value[rows] = (
            row_median(sample[1]) for sample in samples
        )
        both = np.flatnonzero((counts[0][rows] > 0) & (counts[1][rows] > 0))
        found = compare_samples(base[both], head[both])
        own = rows[both]
        for name in ("p", "excess", "variance", "shift", "low", "high"):
            getattr(figures, name)[own] = getattr(found, name)
        figures.least_p[own] = least_p(counts[0][own], counts[1][own])
        figures.mode_p[own] = np.where(np.isnan(found.split), np.nan, found.share_p)
        figures.base_slow[own] = np.rint(found.base_slow * counts[0][own])
        figures.head_slow[own] = np.rint(found.head_slow * counts[1][own])


def _sides(values: PairValues) -> tuple[Mask, Mask]:
    return ~values.is_head, values.is_head


def _rows_of(
    values: PairValues, counts: list[Ints]
) -> Iterator[tuple[Ints, list[tuple[Floats, Floats]]]]:
    """Series with values of similar numbers, and their logarithms and values by side, as rows."""
    values = values.take(np.argsort(values.series, kind="stable"))
    sides = [values.take(own) for own in _sides(values)]
    starts = [np.cumsum(count) - count for count in counts]
    filled = np.flatnonzero(counts[0] + counts[1])
    size = np.ceil(np.log2(np.maximum(*(count[filled] for count in counts))))
    for alike in list_alike(size):
        width = int(2 ** size[alike[0]])
        for rows in np.array_split(alike, 1 + len(alike) * width // _VALUES_AT_ONCE):
            own = filled[rows]
            yield (
                own,
                [
                    (
                        _pad(side.log, start[own], count[own]),
                        _pad(side.value, start[own], count[own]),
                    )
                    for side, start, count in zip(sides, starts, counts, strict=True)
                ],
            )


def _pad(values: Floats, start: Ints, count: Ints) -> Floats:
    """Rows of values, filled up with NaN."""
    rows = np.full((len(count), max(1, int(count.max(initial=0)))), np.nan)
    places = places_in_runs(count)
    rows[np.repeat(np.arange(len(count)), count), places] = values[np.repeat(start, count) + places]
    return rows


def _compare_pairs(figures: PairFigures, values: PairValues, pair: Ints, count: int) -> None:
    order = np.lexsort((values.is_head, pair, values.series))
    values = values.take(order)
    base, head = values.take(slice(0, None, 2)), values.take(slice(1, None, 2))
    order = np.lexsort((head.log, base.log, base.series))  # whichever numbers pairs have
    base, head = base.take(order), head.take(order)
    pairs = np.bincount(base.series, minlength=count)
    start = np.cumsum(pairs) - pairs
    rows = np.flatnonzero(pairs)
    figures.base_count[rows] = figures.head_count[rows] = pairs[rows]
    for alike in list_alike(pairs[rows]):
        own = rows[alike]
        base_log, head_log, base_value, head_value = (
            _pad(each, start[own], pairs[own])
            for each in (base.log, head.log, base.value, head.value)
        )
        figures.base_value[own], figures.head_value[own] = map(row_median, (base_value, head_value))
        for name, column in compare_pairs(base_log, head_log)._asdict().items():
            getattr(figures, name)[own] = column


def pool_devices(series: PairSeries, figures: PairFigures) -> tuple[PairSeries, PairFigures]:
    """Series of pools: each operator on all devices of a pool on which it can be compared.

    There are at least two devices. Their evidence is combined by `pool_samples`.
    """
    levels = pc.is_in(series.keys["level"], pa.array(_POOLED)).to_numpy()
    is_above = np.fmax(figures.base_value, figures.head_value) >= series.floor
    is_pooled = levels & series.keys["pool"].is_valid().to_numpy() & is_above
    own = np.flatnonzero(is_pooled & ~np.isnan(figures.low))
    number, first = number_rows(series.keys.select(_OPERATOR).take(pa.array(own)))
    ns = np.bincount(number, series.is_ns[own], len(first))
    size = np.bincount(number, minlength=len(first))
    is_pool = (size > 1) & ((ns == 0) | (ns == size))
    own, number = own[is_pool[number]], (np.cumsum(is_pool) - 1)[number[is_pool[number]]]
    order = np.argsort(number, kind="stable")
    own, number = own[order], number[order]
    count = int(is_pool.sum())
    size = size[is_pool]
    start = np.cumsum(size) - size

    def gather(column: Floats) -> Floats:
        return _pad(column[own], start, size)

    combined = pool_samples(
        *map(gather, (figures.excess, figures.variance, figures.shift, figures.low, figures.high))
    )
    shift = gather(np.abs(series.state_shift))
    means = [np.sort(gather(each), axis=1) for each in (figures.base_value, figures.head_value)]
    base_count, head_count = (
        np.bincount(number, each[own], count).astype(np.int64)
        for each in (figures.base_count, figures.head_count)
    )
    shift_count = np.count_nonzero(~np.isnan(shift), axis=1)
    with np.errstate(invalid="ignore"):
        state_shift = np.nansum(np.sort(shift, axis=1), axis=1) / shift_count
    keys = series.keys.take(pa.array(own[start]))
    nothing = np.full(count, np.nan)
    for name, text in (("level", POOL), ("device", None)):
        column = pa.array([text] * count, pa.string())
        keys = keys.set_column(keys.schema.get_field_index(name), name, column)
    empty = series.values.take(np.empty(0, np.int64))
    return PairSeries(
        keys,
        series.is_ns[own[start]],
        np.zeros(count),
        greatest(series.half_tick[own], number, count),
        -greatest(-series.instruction[own], number, count),
        state_shift,
        [None] * count,
        empty,
    ), PairFigures._make(
        [
            base_count,
            head_count,
            *(np.nansum(each, axis=1) / size for each in means),
            combined.p,
            np.zeros(count),
            *combined[1:],
            *(nothing, nothing, nothing),
            np.bincount(number, figures.is_paired[own], count) == size,
        ]
    )
