"""The state of a device in each dump, taken out of the values of its operators. Pure.

What else a device does (load, clock speed, temperature) moves all operators of a dump together, so
the operators of one dump are each other's control. The state of a dump is the weighted median, over
its operators, of how far each is from its level in the base; kernels and delegates have a state of
their own, for they react differently. An operator that moves by itself barely moves the median.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.history import KERNELS, NO_KERNEL, NO_UNIT, Series

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEAST_OPERATORS = 3  # of a dump, from which a state can be told
_UNITS = 2
_LEAST_SPREAD = 0.01  # of an operator: a smaller one gives no larger vote
_OPERATOR_SHARE = 1 / 6  # of all votes, at most
_TYPE_SHARE = 1 / 3  # of all votes, at most, for the operators of one type
_CAPPINGS = 8  # rounds: each takes from those above their share
_UNKNOWN_STATE = 0.04  # as if a night's had differed by that where all operators react alike
_REACTIONS = (0.1, 4.0)  # least and most
_USUAL_UNREST = 2.0  # times the base's spread that the dumps of a night may have
_REACTION_SPREAD = 0.25  # standard deviation over operators
_FAR = 3.0  # standard deviations
_MAD_TO_SD = 1.4826
_FIRST_ROUNDS = 4  # of levels and states by turns, where there is no base


class NightValues(NamedTuple):
    """The values of one night.

    Attributes:
        series: The series of each value.
        dump: The dump of each, counted over families and dumps of the night.
        value: The values, logarithms.
        dump_count: How many dumps there are.
    """

    series: Ints
    dump: Ints
    value: Floats
    dump_count: int


class Usual(NamedTuple):
    """What the builds before say of every series.

    Attributes:
        level: Its level, the states of the device taken out; NaN if unknown.
        spread: Standard deviation of its dumps, the states taken out; NaN if unknown.
        reaction: How many times as far as the device it moves with its state.
    """

    level: Floats
    spread: Floats
    reaction: Floats


class StateCells(NamedTuple):
    """What the states of a night say of each series; each of shape (series, builds).

    Attributes:
        spread: Robust standard deviation of its values, the states taken out; NaN without any.
        moments: Sums over its dumps: of 1, the state, its square, the value, value times state.
    """

    spread: Floats
    moments: Floats

    @property
    def state(self) -> Floats:
        """Mean state of the dumps of each series; NaN without any."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.moments[1] / self.moments[0]
        return mean

    @property
    def value(self) -> Floats:
        """Mean of their values, those far off drawn in; NaN without any."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.moments[3] / self.moments[0]
        return mean

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> StateCells:
        """Those of no night."""
        return cls(np.full(shape, np.nan), np.zeros((5, *shape)))


def row_mean(rows: Floats) -> Floats:
    """The mean of each row without its NaN; NaN for a row of nothing else."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.nansum(rows, axis=1) / np.count_nonzero(~np.isnan(rows), axis=1)
    return mean


def find_reaction(cells: StateCells, series: Ints, build: Ints) -> tuple[Floats, Floats]:
    """How far each series moves when the device moves by 1, by a regression over chosen cells.

    It is drawn towards 1, all the more the less the states of those cells differ. The second array
    says how far off it may be: as much as operators differ where nothing is known, and less the
    more the nights differ: dumps of one night say the same of a reaction.
    """
    shape = len(cells.state)
    count, state, square, value, product = (
        np.bincount(series, each[series, build], minlength=shape) for each in cells.moments
    )
    least = np.maximum(count, 1)
    nights, mean, mean_square = (
        np.bincount(series, each, minlength=shape)
        for each in (None, cells.state[series, build], cells.state[series, build] ** 2)
    )
    drawn = count / np.maximum(nights, 1) * _UNKNOWN_STATE**2
    with np.errstate(invalid="ignore"):
        known = np.maximum(square - state**2 / least, 0)
        slope = (product - value * state / least + drawn) / (known + drawn)
    differ = np.maximum(mean_square - mean**2 / np.maximum(nights, 1), 0)
    doubt = _REACTION_SPREAD / np.sqrt(1 + differ / _UNKNOWN_STATE**2)
    return np.clip(np.nan_to_num(slope, nan=1.0), *_REACTIONS), doubt


def summarise_states(
    cells: StateCells, build: int, night: NightValues, state: Floats, reaction: Floats
) -> None:
    """Fill in the cells of a night. A value far from where it should be counts as less far."""
    own = night.series
    series = np.unique(own)
    residual = night.value - reaction[own] * state
    level = group_median(own, residual)
    distance = residual - level
    spread = _MAD_TO_SD * group_median(own, np.abs(distance))
    cells.spread[own, build] = spread
    far = _FAR * np.maximum(spread, _LEAST_SPREAD)
    value = level + np.clip(distance, -far, far) + reaction[own] * state
    sums = (np.ones(len(own)), state, state**2, value, value * state)
    for moment, each in zip(cells.moments, sums, strict=True):
        moment[series, build] = np.bincount(own, each, minlength=len(moment))[series]


def find_unrest(spread: Floats, usual: Floats) -> Floats:
    """How many times as far as usual nights may be from their base; 1 or more.

    Where the dumps of a night differ far more than those of the base, something disturbed many of
    them, and their median is as much less sure.

    Args:
        spread: Standard deviation of the dumps of the nights; NaN if unknown.
        usual: The same of the base.
    """
    times = spread / (_USUAL_UNREST * np.maximum(usual, _LEAST_SPREAD))
    unrest: Floats = np.fmax(times, 1.0)
    return unrest


def dump_states(series: Series, night: NightValues, usual: Usual) -> Floats:
    """The state of the device in the dump of each value; 0 where it cannot be told.

    Args:
        series: What is known of the series.
        night: The values of a night.
        usual: What the builds before say of every series.
    """
    unit, is_voter = series.unit[night.series], series.kernel[night.series] != NO_KERNEL
    votes = np.flatnonzero(is_voter & (unit != NO_UNIT))
    own = night.series[votes]
    group = night.dump[votes] * _UNITS + unit[votes]
    group_count = night.dump_count * _UNITS
    reaction = usual.reaction[own]
    tick = series.half_tick[own] / np.exp(night.value[votes])
    spread = np.fmax(usual.spread[own] / reaction, np.maximum(tick, _LEAST_SPREAD))
    weight = _weigh(series.kernel[own], group, spread, group_count)
    levels = _first_levels(night, votes, group, usual.level, weight, group_count)
    moved = (night.value[votes] - levels) / reaction
    state, is_known = _states(group, moved, weight, group_count)
    share = np.bincount(group, np.exp(np.nan_to_num(levels)), minlength=group_count)
    return _spread_out(series, night, state, np.where(is_known, share, 0.0))


def _weigh(kernel: Ints, group: Ints, spread: Floats, group_count: int) -> Floats:
    """The vote of each operator: the less it varies the more, up to its share."""
    weight = 1 / spread
    _, kind = np.unique(np.stack([group, kernel]), axis=1, return_inverse=True)
    kind = kind.ravel()
    for _ in range(_CAPPINGS):
        total = np.bincount(group, weight, minlength=group_count)[group]
        weight = np.minimum(weight, _OPERATOR_SHARE * total)
        total = np.bincount(group, weight, minlength=group_count)[group]
        own_type = np.bincount(kind, weight)[kind]
        weight *= np.minimum(1, _TYPE_SHARE * total / np.maximum(own_type, 1e-300))
    total = np.bincount(group, weight, minlength=group_count)[group]
    return weight / np.maximum(total, 1e-300)


def _first_levels(
    night: NightValues, votes: Ints, group: Ints, level: Floats, weight: Floats, group_count: int
) -> Floats:
    """The level of each voter; where a dump has none at all, those of the night itself."""
    own = night.series[votes]
    levels = level[own]
    has_base = np.zeros(group_count, bool)
    has_base[group[~np.isnan(levels)]] = True
    new = np.flatnonzero(~has_base[group])
    if len(new):
        value, state = night.value[votes[new]], np.zeros(len(new))
        for _ in range(_FIRST_ROUNDS):
            levels[new] = group_median(own[new], value - state)
            states, _ = _states(group[new], value - levels[new], weight[new], group_count)
            state = states[group[new]]
    return levels


def group_median(group: Ints, value: Floats) -> Floats:
    """The median of the group of each value."""
    order = np.lexsort((value, group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    count = np.diff(first, append=len(order))
    middle = value[order[first + (count - 1) // 2]] + value[order[first + count // 2]]
    median = np.empty(len(value))
    median[order] = np.repeat(middle / 2, count)
    return median


def _states(group: Ints, moved: Floats, weight: Floats, group_count: int) -> tuple[Floats, Mask]:
    """The state of each group, and whether enough of its operators tell it."""
    known = ~np.isnan(moved)
    state = weighted_median(group[known], moved[known], weight[known], group_count)
    is_known = np.bincount(group[known], minlength=group_count) >= LEAST_OPERATORS
    return np.where(is_known, state, 0.0), is_known


def _spread_out(series: Series, night: NightValues, state: Floats, share: Floats) -> Floats:
    """The state of each value: of its unit; of what holds others, of both by their time."""
    state, share = state.reshape(-1, _UNITS), share.reshape(-1, _UNITS)
    unit = series.unit[night.series]
    is_whole = (series.kernel[night.series] == NO_KERNEL) & (unit == KERNELS)
    total = np.maximum(share.sum(axis=1), 1e-300)
    mixed = (state * share).sum(axis=1) / total
    own = state[night.dump, np.maximum(unit, 0)]
    spread: Floats = np.where(is_whole, mixed[night.dump], own)
    return np.where(unit == NO_UNIT, 0.0, spread)


def weighted_median(group: Ints, value: Floats, weight: Floats, group_count: int) -> Floats:
    """The weighted median of each group; where two values share the middle, their mean."""
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    total = np.bincount(group, weight, minlength=group_count)
    before = np.concatenate([[0.0], np.cumsum(total)])[:-1]
    reached = np.cumsum(weight) - before[group]
    half = total[group] / 2
    low, high = np.zeros(group_count), np.zeros(group_count)
    is_half, is_more = reached >= half * (1 - 1e-9), reached > half * (1 + 1e-9)
    for median, is_there in ((low, is_half), (high, is_more)):
        chosen = np.flatnonzero(is_there)[::-1]  # the first of a group is written last
        median[group[chosen]] = value[chosen]
    return (low + high) / 2
