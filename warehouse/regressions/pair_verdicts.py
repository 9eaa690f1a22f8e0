"""Verdicts on the series of two builds, each given the other series. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.warehouse.regressions.nightly import adjust_p
from tracehouse.warehouse.regressions.pair_figures import POOL, PairFigures
from tracehouse.warehouse.regressions.pair_series import DELEGATED, METHOD, PairSeries
from tracehouse.warehouse.regressions.series_values import group_rows
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict
from tracehouse.warehouse.statistics.arrays import ROUNDING, Floats, Ints, Mask, log_change
from tracehouse.warehouse.statistics.device_states import MAD_TO_SD, group_median
from tracehouse.warehouse.statistics.two_samples import LEAST_DUMPS, find_needed_dumps

STATE_DOUBT = 0.15  # share of a state's move by which operators may react differently to it
SCATTER_RATIO = 3  # standard deviations of the changes of the other operators
_MOVED_SHARE = 4  # time moved if gains and losses differ by less than one in so many
_CONTAINERS = ("method", "delegate")  # levels
_TOGETHER = "operator"  # level of the family of operators, calls and methods
_FAILED = "(incomplete)"  # end of the name of runs that failed

CHANGES = (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT)


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
