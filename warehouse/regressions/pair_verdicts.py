"""Statistics of the series of two builds, and verdicts, each given the other series. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracehouse.warehouse.regressions.changes import SeriesVerdict
from tracehouse.warehouse.regressions.nightly import adjust_p
from tracehouse.warehouse.regressions.pair_series import (
    DELEGATED,
    METHOD,
    NO_PAIR,
    PairDumps,
    PairSeries,
    PairValues,
    greatest,
)
from tracehouse.warehouse.regressions.series_values import group_rows, number_rows
from tracehouse.warehouse.statistics.arrays import ROUNDING, Floats, Ints, Mask, log_change
from tracehouse.warehouse.statistics.device_states import MAD_TO_SD, group_median
from tracehouse.warehouse.statistics.paired_samples import compare_pairs, pool_samples
from tracehouse.warehouse.statistics.runs import list_alike, places_in_runs
from tracehouse.warehouse.statistics.two_samples import (
    LEAST_DUMPS,
    LEAST_PAIRS,
    compare_samples,
    find_needed_dumps,
    least_p,
    row_median,
)

POOL = "pool"
_POOLED = ("method", "delegate", "operator")  # levels
_OPERATOR = ("pool", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
_VALUES_AT_ONCE = 4_000_000
STATE_DOUBT = 0.15  # share of a state's move by which operators may react differently to it
SCATTER_RATIO = 3  # standard deviations of the changes of the other operators
_MOVED_SHARE = 4  # time moved if gains and losses differ by less than one in so many
_CONTAINERS = ("method", "delegate")  # levels
_TOGETHER = "operator"  # level of the family of operators, calls and methods
_FAILED = "(incomplete)"  # end of the name of runs that failed
CHANGES = (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT)


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


class Limits(NamedTuple):
    """What changes are judged by.

    Attributes:
        q: Share of false alarms accepted among alarms.
        min_change: Smallest change that counts, as a share.
    """

    q: float
    min_change: float


class PairJudgement(NamedTuple):
    """The verdicts on series.

    Attributes:
        family: Number of the family of each, whose false alarms are controlled together.
        verdict: The verdict.
        p_adjusted: p after Benjamini-Hochberg; NaN where nothing was tested.
        dumps_needed: Dumps that each build lacks; NaN if none, or if more would not help.
        cost: Cost of the change per run; 0 unless it counts.
    """

    family: Ints
    verdict: list[SeriesVerdict]
    p_adjusted: Floats
    dumps_needed: Floats
    cost: Floats


class _Tests(NamedTuple):
    """The chance of an accident, given the other series of the family.

    Attributes:
        is_tested: Whether there are enough dumps of a time that can be compared.
        test_count: Number of such series in the family.
        rival_count: Number of series in it that would be, with more dumps.
        p_adjusted: p after Benjamini-Hochberg; NaN where nothing was tested.
        mode_p: p of the share of slow processes, after Bonferroni; NaN without two modes.
        scatter: Standard deviation of the changes of series that share its state of the device, by
            their median deviation; 0 where values have that state.
    """

    is_tested: Mask
    test_count: Ints
    rival_count: Ints
    p_adjusted: Floats
    mode_p: Floats
    scatter: Floats


def judge_series(series: PairSeries, figures: PairFigures, limits: Limits) -> PairJudgement:
    """The verdict on each series."""
    levels = _texts(series, "level")
    family = _number_families(series, levels)
    kinds = _texts(series, "kind")
    tests = _test(series, figures, family, np.isin(kinds, DELEGATED))
    is_container = np.isin(levels, _CONTAINERS)
    verdict = _judge(series, figures, tests, family, limits, is_container)
    cost = _price(figures, verdict, figures.base_value * np.expm1(figures.shift))
    steps = _price(figures, verdict, _find_steps(figures))
    is_moved = _find_moved(family, kinds, steps) & np.isin(verdict, CHANGES)
    needed = _find_needed(figures, tests, verdict, limits, _reach_tick(series, figures))
    verdict[is_moved] = SeriesVerdict.MOVED
    return PairJudgement(family, verdict.tolist(), tests.p_adjusted, needed, cost)


def _texts(series: PairSeries, name: str) -> NDArray[np.object_]:
    return np.array(series.keys[name].to_pylist(), object)


def _number_families(series: PairSeries, levels: NDArray[np.object_]) -> Ints:
    """Families: the series of one method, by level; operators, calls and methods together."""
    own = np.where(np.isin(levels, _CONTAINERS), _TOGETHER, levels)
    keys = series.keys.select(METHOD)
    keys = keys.append_column("own", pa.array(own.tolist(), pa.string()))
    pools = zip(levels, series.keys["pool"].to_pylist(), strict=True)
    pool = [name if level == POOL else None for level, name in pools]
    return group_rows(keys.append_column("pool", pa.array(pool, pa.string())))[0]


def _test(series: PairSeries, figures: PairFigures, family: Ints, is_delegated: Mask) -> _Tests:
    count = int(family.max(initial=-1)) + 1
    is_above = np.fmax(figures.base_value, figures.head_value) >= series.floor
    is_tested = is_above & (np.minimum(figures.base_count, figures.head_count) >= LEAST_DUMPS)
    test_count = np.bincount(family, is_tested, count).astype(np.int64)[family]
    p_adjusted = np.full(len(family), np.nan)
    tested = np.flatnonzero(is_tested)
    p_adjusted[tested] = adjust_p(figures.p[tested], family[tested], test_count[tested])
    mode_count = np.bincount(family, ~np.isnan(figures.mode_p), count)[family]
    scatter = np.zeros(len(family))
    shared = np.flatnonzero(is_above & ~np.isnan(series.state_shift + figures.shift))
    unit, shift = 2 * family[shared] + is_delegated[shared], figures.shift[shared]
    scatter[shared] = MAD_TO_SD * group_median(unit, np.abs(shift - group_median(unit, shift)))
    return _Tests(
        is_tested,
        test_count,
        np.bincount(family, is_above, count).astype(np.int64)[family],
        p_adjusted,
        figures.mode_p * mode_count,
        scatter,
    )


def _judge(
    series: PairSeries,
    figures: PairFigures,
    tests: _Tests,
    family: Ints,
    limits: Limits,
    is_container: Mask,
) -> NDArray[np.object_]:
    """The verdict on each series by itself: the first that applies."""
    margin = float(log_change(limits.min_change))
    moved = np.abs(np.nan_to_num(series.state_shift))
    doubt = STATE_DOUBT * moved
    least = np.maximum(margin + doubt, SCATTER_RATIO * tests.scatter)
    is_sure = (tests.p_adjusted <= limits.q) & _reach_tick(series, figures)
    shift, low, high = figures.shift, figures.low, figures.high
    has_base, has_head = (_has(series, is_head=side) for side in (False, True))
    base_ran, head_ran = (_any(family, side)[family] for side in (has_base, has_head))
    runs = series.keys["run"].to_pylist()
    # A few failed runs do not show which operators a build runs.
    counted = figures.base_count + figures.head_count > 0
    is_usual = counted | ~np.array([run.endswith(_FAILED) for run in runs], bool)
    few = np.minimum(figures.base_count, figures.head_count) < LEAST_DUMPS
    with np.errstate(invalid="ignore"):
        rules = (
            (SeriesVerdict.NEW_OP, base_ran & ~has_base & is_usual),
            (SeriesVerdict.REMOVED_OP, head_ran & ~has_head & is_usual),
            (SeriesVerdict.NEEDS_MORE_DUMPS, few),
            (SeriesVerdict.BELOW_RESOLUTION, ~tests.is_tested),
            (
                SeriesVerdict.NEEDS_MORE_DUMPS,
                figures.least_p > limits.q / np.maximum(tests.test_count, 1),
            ),
            (SeriesVerdict.REGRESSION, is_sure & (low > 0) & (shift >= least)),
            (SeriesVerdict.IMPROVEMENT, is_sure & (high < 0) & (shift <= -least)),
            (SeriesVerdict.MODE_MIX, tests.mode_p <= limits.q),
            (SeriesVerdict.EXPLAINED_BY_RUN_SHIFT, is_container & (moved >= margin)),
            (SeriesVerdict.UNCHANGED, np.maximum(high, -low) + doubt <= margin),
        )
    verdict = np.full(len(family), SeriesVerdict.INCONCLUSIVE, object)
    for word, applies in reversed(rules):
        verdict[applies] = word
    return verdict


def _has(series: PairSeries, *, is_head: bool) -> Mask:
    """Whether each series is in a build, even if no dump counts; a pool is in both."""
    found: Mask = series.keys["device"].is_null().to_numpy().copy()
    values = series.values
    found[values.series[values.is_head == is_head]] = True
    return found


def _any(family: Ints, there: Mask) -> Mask:
    found = np.zeros(int(family.max(initial=-1)) + 1, bool)
    found[family[there]] = True
    return found


def _find_steps(figures: PairFigures) -> Floats:
    """How far each series moved, by its longer time: the opposite if builds are swapped."""
    longer = np.maximum(figures.base_value, figures.head_value)
    steps: Floats = -np.sign(figures.shift) * np.expm1(-np.abs(figures.shift)) * longer
    return steps


def _reach_tick(series: PairSeries, figures: PairFigures) -> Mask:
    """Whether each change reaches half a tick of the clock."""
    with np.errstate(invalid="ignore"):
        reached: Mask = np.abs(_find_steps(figures)) >= series.half_tick * (1 - ROUNDING)
    return reached


def _find_needed(
    figures: PairFigures, tests: _Tests, verdict: NDArray[np.object_], limits: Limits, is_fine: Mask
) -> Floats:
    """Dumps that each build lacks: for a test at all, or for an interval within the margin."""
    dumps = np.minimum(figures.base_count, figures.head_count)
    margin = float(log_change(limits.min_change))
    wanted = find_needed_dumps(limits.q / np.maximum(tests.rival_count, 1))
    needed = np.full(len(verdict), np.nan)
    few = verdict == SeriesVerdict.NEEDS_MORE_DUMPS
    needed[few] = np.fmax(wanted - dumps, 1)[few]
    is_hidden = (tests.p_adjusted <= limits.q) & ~is_fine & (np.abs(figures.shift) >= margin)
    wide = (verdict == SeriesVerdict.INCONCLUSIVE) & ~is_hidden  # by the clock: no dumps help
    if margin > 0:
        times = ((figures.high - figures.low) / 2 / margin) ** 2
        needed[wide] = np.maximum(np.ceil(dumps * times) - dumps, 1)[wide]
    return needed


def _price(figures: PairFigures, verdict: NDArray[np.object_], changes: Floats) -> Floats:
    """What each change adds to a run; 0 for what is no change."""
    cost = np.zeros(len(verdict))
    for words, values in (
        (CHANGES, changes),
        ((SeriesVerdict.NEW_OP,), figures.head_value),
        ((SeriesVerdict.REMOVED_OP,), -figures.base_value),
    ):
        own = np.isin(verdict, words)
        cost[own] = np.nan_to_num(values[own])
    return cost


def _find_moved(family: Ints, kinds: NDArray[np.object_], cost: Floats) -> Mask:
    """Series of a method that did not change, whose changes make up for one another.

    Time moves among the operators inside delegates, or among all others with calls.
    """
    is_method = kinds == "method"
    count = int(family.max(initial=-1)) + 1
    scope = 2 * family + (kinds == "delegate_op")
    order = np.lexsort((cost, scope))  # sums do not depend on the order of series
    parts = np.where(is_method, 0.0, cost)[order]
    more, less = (
        np.bincount(scope[order], np.maximum(way * parts, 0.0), 2 * count)[scope]
        for way in (1.0, -1.0)
    )
    is_balanced = np.abs(more - less) <= np.minimum(more, less) / _MOVED_SHARE
    has_changed = _any(family, is_method & (cost != 0))
    is_moved: Mask = is_balanced & ~is_method & ~has_changed[family]
    return is_moved
