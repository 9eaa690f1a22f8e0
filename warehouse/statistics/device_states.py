"""The state of a device in each dump, as the operators of the dump show it. Pure.

What else a device does (load, clock speed, temperature) moves all operators of a dump together, so
the operators of one dump are each other's control. The state of a dump is the weighted median, over
its operators, of how far each is from its level in the base; kernels and delegates have a state of
their own, for they react differently. An operator that moves by itself barely moves the median.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warehouse.statistics.arrays import Floats, Ints, Mask
from warehouse.statistics.runs import find_starts

NO_KERNEL = -1
NO_UNIT, KERNELS, DELEGATE, WHOLE = -1, 0, 1, 2
LEAST_OPERATORS = 3  # of a dump, from which on a state is known
LEAST_SPREAD = 0.01  # of an operator: a smaller one gives no larger vote
MAD_TO_SD = 1.4826
_UNITS = 2
OPERATOR_SHARE = 1 / 6  # of all votes, at most
TYPE_SHARE = 1 / 3  # of all votes, at most, for the operators of one type
_CAPPINGS = 8  # rounds: each takes from those above their share
_SMALL = 1 << 16  # numbers that are sorted in one pass
_PADDING = 8  # times the values, at most, in rows of one group each
_FIRST_ROUNDS = 4  # of levels and states by turns, where there is no base


class Operators(NamedTuple):
    """What is known of each series of values.

    Attributes:
        kernel: Number of its operator type in its family; NO_KERNEL for what only holds others.
        unit: What runs it: KERNELS or DELEGATE, whose state all operators of a dump share; NO_UNIT
            where the state of the device is out of the values already.
        half_tick: Half of the smallest step of its clock, in the unit of the values.
    """

    kernel: Ints
    unit: Ints
    half_tick: Floats


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


class UsualLevels(NamedTuple):
    """What the builds before say of every series.

    Attributes:
        level: Its level, the states of the device taken out; NaN if unknown.
        spread: Standard deviation of its dumps, the states taken out; NaN if unknown.
        reaction: How many times as far as the device it moves with its state.
    """

    level: Floats
    spread: Floats
    reaction: Floats


def dump_states(operators: Operators, night: NightValues, usual: UsualLevels) -> Floats:
    """The state of the device in the dump of each value; NaN where it is unknown.

    Args:
        operators: What is known of the series.
        night: The values of a night.
        usual: What the builds before say of every series.
    """
    unit, is_voter = operators.unit[night.series], operators.kernel[night.series] != NO_KERNEL
    votes = np.flatnonzero(is_voter & (unit != NO_UNIT))
    own = night.series[votes]
    group = night.dump[votes] * _UNITS + unit[votes]
    group_count = night.dump_count * _UNITS
    reaction = usual.reaction[own]
    tick = operators.half_tick[own] / np.exp(night.value[votes])
    spread = np.fmax(usual.spread[own] / reaction, np.maximum(tick, LEAST_SPREAD))
    weight = _weigh(operators.kernel[own], group, spread, group_count)
    levels = _first_levels(night, votes, group, usual.level, weight, group_count)
    moved = (night.value[votes] - levels) / reaction
    state = _states(group, moved, weight, group_count)
    share = np.bincount(group, np.exp(np.nan_to_num(levels)), minlength=group_count)
    return _spread_out(operators, night, state, np.where(np.isnan(state), 0.0, share))


def _weigh(kernel: Ints, group: Ints, spread: Floats, group_count: int) -> Floats:
    """The vote of each operator: the less it varies the more, up to its share."""
    weight = 1 / spread
    _, kind = np.unique(group * (int(kernel.max(initial=0)) + 1) + kernel, return_inverse=True)
    for _ in range(_CAPPINGS):
        before = weight
        total = np.bincount(group, weight, minlength=group_count)[group]
        weight = np.minimum(weight, OPERATOR_SHARE * total)
        total = np.bincount(group, weight, minlength=group_count)[group]
        own_type = np.bincount(kind, weight)[kind]
        weight = weight * np.minimum(1, TYPE_SHARE * total / np.maximum(own_type, 1e-300))
        if np.array_equal(weight, before):
            break
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
            states = _states(group[new], value - levels[new], weight[new], group_count)
            state = np.nan_to_num(states[group[new]])
    return levels


def group_median(group: Ints, value: Floats) -> Floats:
    """The median of the group of each value."""
    order = _order(group, value)
    first = find_starts([group[order]])
    count = np.diff(first, append=len(order))
    middle = value[order[first + (count - 1) // 2]] + value[order[first + count // 2]]
    median = np.empty(len(value))
    median[order] = np.repeat(middle / 2, count)
    return median


def _states(group: Ints, moved: Floats, weight: Floats, group_count: int) -> Floats:
    """The state of each group; NaN where it has too few operators."""
    known = ~np.isnan(moved)
    state = weighted_median(group[known], moved[known], weight[known], group_count)
    is_known = np.bincount(group[known], minlength=group_count) >= LEAST_OPERATORS
    return np.where(is_known, state, np.nan)


def _spread_out(operators: Operators, night: NightValues, state: Floats, share: Floats) -> Floats:
    """The state of each value: of its unit; of what holds others, of both by their time."""
    state, share = state.reshape(-1, _UNITS), share.reshape(-1, _UNITS)
    unit = operators.unit[night.series]
    is_whole = (operators.kernel[night.series] == NO_KERNEL) & (unit == KERNELS)
    with np.errstate(invalid="ignore", divide="ignore"):
        mixed = np.log(np.nansum(np.exp(state) * share, axis=1) / share.sum(axis=1))
    own = state[night.dump, np.maximum(unit, 0)]
    spread: Floats = np.where(is_whole, mixed[night.dump], own)
    return np.where(unit == NO_UNIT, np.nan, spread)


class PairStates(NamedTuple):
    """The states of the device in the dumps of two builds; NaN where they are unknown.

    Both are of shape (dumps, 3): of kernels, of delegates, and of what holds both.

    Attributes:
        state: How far the device was from its usual state in the base.
        shift: The median of that over the dumps of the head, the same in all dumps of a family.
    """

    state: Floats
    shift: Floats


def pair_states(
    operators: Operators, values: NightValues, is_head: Mask, family: Ints
) -> PairStates:
    """The states of the dumps of a base and a head, by the levels of the base.

    Args:
        operators: What is known of the series.
        values: The values of both builds.
        is_head: Whether each dump is the head's.
        family: Number of the family of each dump.
    """
    is_whole = (operators.kernel == NO_KERNEL) & (operators.unit == KERNELS)
    unit = np.where(is_whole, WHOLE, operators.unit)[values.series]
    state = np.full((values.dump_count, WHOLE + 1), np.nan)
    state[values.dump, unit] = _states_by_base(operators, values, is_head[values.dump])
    count = int(family.max(initial=-1)) + 1
    medians = np.full((2, count, WHOLE + 1), np.nan)
    for own, median in ((~is_head, medians[0]), (is_head, medians[1])):
        dump, place = np.nonzero(own[:, None] & ~np.isnan(state))
        scope = family[dump] * (WHOLE + 1) + place
        median[family[dump], place] = group_median(scope, state[dump, place])
    usual, now = medians[:, family]
    return PairStates(state - usual, now - usual)


def _states_by_base(operators: Operators, values: NightValues, is_head: Mask) -> Floats:
    """The state of each value, from the levels and spreads of the base without its own states."""
    nothing, alike = np.full(len(operators.unit), np.nan), np.ones(len(operators.unit))
    chosen = np.flatnonzero(~is_head)
    base = NightValues(
        values.series[chosen], values.dump[chosen], values.value[chosen], values.dump_count
    )
    state = dump_states(operators, base, UsualLevels(nothing, nothing, alike))
    residual = base.value - np.nan_to_num(state)
    level, spread = nothing.copy(), nothing.copy()
    middle = group_median(base.series, residual)
    level[base.series] = middle
    spread[base.series] = MAD_TO_SD * group_median(base.series, np.abs(residual - middle))
    return dump_states(operators, values, UsualLevels(level, spread, alike))


def weighted_median(group: Ints, value: Floats, weight: Floats, group_count: int) -> Floats:
    """The weighted median of each group; where two values share the middle, their mean."""
    order = _order(group, value)
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


def _order(group: Ints, value: Floats) -> Ints:
    """The order by group, then value."""
    counts = np.bincount(group)
    width = int(counts.max(initial=0))
    if width * len(counts) > _PADDING * len(group):
        return np.lexsort((value, group))
    is_small = len(counts) <= _SMALL
    order = np.argsort(group.astype(np.uint16) if is_small else group, kind="stable")
    rows = np.full((len(counts), width), np.nan)  # which are sorted faster than all as one
    is_filled = np.arange(width) < counts[:, None]
    rows[is_filled] = value[order]
    places = np.argsort(rows, axis=1, kind="stable") + (np.cumsum(counts) - counts)[:, None]
    by_value: Ints = order[places[is_filled]]
    return by_value
