"""The state of a device in each dump, estimated from the operators of the dump. Pure.

Load, clock speed and temperature of a device move all operators of a dump together, so the
operators of one dump are each other's control. The state of a dump is how far the night is from
the base, and the dump from the night: weighted medians over its operators, of the distances of the
night's levels from those of the base, and of the dump's values from the night's levels. So an
operator that changes in a night says little about its dumps. Kernels and delegates have separate
states, because they react differently. A single operator that moves barely affects the median; if
the device was steady, that it still is counts as much as an operator may.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import list_alike

NO_KERNEL = -1
NO_UNIT, KERNELS, DELEGATE, WHOLE = -1, 0, 1, 2
LEAST_OPERATORS = 3  # A dump with fewer has no known state
LEAST_SPREAD = 0.01  # A smaller spread of an operator gives no larger vote
MAD_TO_SD = 1.4826
_UNITS = 2
OPERATOR_SHARE = 1 / 6  # largest share of votes for one operator
TYPE_SHARE = 1 / 3  # largest share of votes for operators of one type
_CAPPINGS = 8  # rounds that reduce votes above their share
_SMALL = 1 << 16  # numbers that are sorted in one pass
_EQUAL = 1e-9  # share of a half by which rounding may change a sum of weights
_ROUNDS = 4  # Levels of a night and states of its dumps are found in turn


class Operators(NamedTuple):
    """Properties of each series of values.

    Attributes:
        kernel: Number of the operator type in the family; NO_KERNEL for containers.
        unit: KERNELS or DELEGATE, whose state all operators of a dump share; NO_UNIT if the values
            do not contain the state of the device.
        half_tick: Half of the clock's smallest step, in the unit of the values.
    """

    kernel: Ints
    unit: Ints
    half_tick: Floats


class NightValues(NamedTuple):
    """The values of one night.

    Attributes:
        series: The series of each value.
        dump: The dump of each value, counted over families and dumps of the night.
        value: The values, logarithms.
        dump_count: Number of dumps.
    """

    series: Ints
    dump: Ints
    value: Floats
    dump_count: int


class UsualLevels(NamedTuple):
    """Statistics of every series in earlier builds.

    Attributes:
        level: The level, without the states of the device; NaN if unknown.
        spread: Standard deviation of the dumps, without the states; NaN if unknown.
        reaction: How far the series moves if the device's state moves by 1.
        state: The usual state of the device, from which the levels are told.
        is_steady: Whether the device was near that state in the builds that are known.
    """

    level: Floats
    spread: Floats
    reaction: Floats
    state: Floats
    is_steady: Mask


class Groups:
    """Groups of values, laid out once to find medians of several values.

    Groups of similar sizes are the rows of a table, which are sorted faster than all as one.

    Attributes:
        group: The group of each value.
        count: Number of groups.
    """

    def __init__(self, group: Ints, count: int = 0) -> None:
        """Lay out the values of at least `count` groups."""
        sizes = np.bincount(group, minlength=count)
        is_small = len(sizes) <= _SMALL
        order = np.argsort(group.astype(np.uint16) if is_small else group, kind="stable")
        order, start = np.append(order, len(group)), np.cumsum(sizes) - sizes
        self.group, self.count = group, len(sizes)
        self._tables: list[tuple[Ints, Ints, Ints]] = []
        for rows in filter(lambda rows: sizes[rows[0]], list_alike(np.frexp(sizes)[1])):
            size = sizes[rows]
            place = np.arange(size.max())
            is_there = place < size[:, None]
            source = order[np.where(is_there, start[rows][:, None] + place, len(group))]
            self._tables.append((rows, size, source))

    def median(self, value: Floats) -> Floats:
        """The median of each group; NaN for one without values."""
        median, padded = np.full(self.count, np.nan), np.append(value, np.nan)
        for rows, size, source in self._tables:
            ordered, row = np.sort(padded[source], axis=1), np.arange(len(rows))
            median[rows] = (ordered[row, (size - 1) // 2] + ordered[row, size // 2]) / 2
        return median

    def weighted_median(self, value: Floats, weight: Floats) -> Floats:
        """The weighted median of each group: the mean if two values share the middle; else 0."""
        median = np.zeros(self.count)
        values, weights = np.append(value, np.nan), np.append(weight, 0.0)
        for rows, _, source in self._tables:
            table, row = values[source], np.arange(len(rows))
            order = np.argsort(table, axis=1, kind="stable")
            reached = np.cumsum(np.take_along_axis(weights[source], order, 1), axis=1)
            half = reached[:, -1:] / 2
            low, high = (
                table[row, order[row, (reached >= half * (1 + more)).argmax(axis=1)]]
                for more in (-_EQUAL, _EQUAL)
            )
            median[rows] = (low + high) / 2
        return median


class _Votes(NamedTuple):
    """The votes of operators on the states of some groups.

    Attributes:
        groups: The groups of the votes: a dump or a recording, and a unit.
        moved: How far the operator has moved, in the unit of the state.
        weight: The weight of each vote.
    """

    groups: Groups
    moved: Floats
    weight: Floats

    def median(self) -> Floats:
        """The weighted median of each group."""
        return self.groups.weighted_median(self.moved, self.weight)


def dump_states(
    operators: Operators, night: NightValues, usual: UsualLevels, recording: Ints
) -> Floats:
    """The state of the device in the dump of each value; NaN where it is unknown.

    `recording` numbers the recordings (a family in a night) by the dumps of each.
    """
    unit, is_voter = operators.unit[night.series], operators.kernel[night.series] != NO_KERNEL
    rows = np.flatnonzero(is_voter & (unit != NO_UNIT))
    own, value, dump = night.series[rows], night.value[rows], night.dump[rows]
    reaction, kernel = usual.reaction[own], operators.kernel[own]
    tick = operators.half_tick[own] / np.exp(value)
    spread = np.fmax(usual.spread[own] / reaction, np.maximum(tick, LEAST_SPREAD))
    group, group_count = dump * _UNITS + unit[rows], night.dump_count * _UNITS
    scope = recording[dump] * _UNITS + unit[rows]
    _, first, cell = np.unique(
        scope * len(operators.kernel) + own, return_index=True, return_inverse=True
    )
    weight, state = _weigh(kernel, group, spread, group_count), np.zeros(group_count)
    dumps, cells = Groups(group, group_count), Groups(cell)
    for _ in range(_ROUNDS):
        levels = cells.median(value - reaction * state[group])[cell]
        before, state = state, _Votes(dumps, (value - levels) / reaction, weight).median()
        if np.array_equal(state, before):
            break
    levels = cells.median(value - reaction * state[group])[cell]
    moved = (levels[first] - usual.level[own[first]]) / reaction[first]
    known = first[~np.isnan(moved)]
    moved, scope_count = moved[~np.isnan(moved)], (int(scope.max(initial=-1)) + 1)
    weight = _weigh(kernel[known], scope[known], spread[known], scope_count)
    votes = _Votes(Groups(scope[known], scope_count), moved, weight)
    state[group] += _night_states(votes, usual, own[known])[scope]
    state[np.bincount(group, minlength=group_count) < LEAST_OPERATORS] = np.nan
    levels = np.where(np.isnan(usual.level[own]), levels, usual.level[own])
    share = np.bincount(group, np.exp(levels), minlength=group_count)
    return _spread_out(operators, night, state, np.where(np.isnan(state), 0.0, share))


def _night_states(votes: _Votes, usual: UsualLevels, series: Ints) -> Floats:
    """How far the device is from the base in each recording; 0 for one without any base."""
    group, group_count = votes.groups.group, votes.groups.count
    steady, before = np.zeros(group_count, bool), np.zeros(group_count)
    steady[group], before[group] = usual.is_steady[series], usual.state[series]
    own = np.flatnonzero(steady)
    state = _Votes(
        Groups(np.append(group, own), group_count),
        np.append(votes.moved, before[own]),
        np.append(votes.weight, np.full(len(own), OPERATOR_SHARE / (1 - OPERATOR_SHARE))),
    ).median()
    count = np.bincount(group, minlength=group_count)
    state[(count > 0) & (count < LEAST_OPERATORS)] = np.nan
    return state


def _weigh(kernel: Ints, group: Ints, spread: Floats, group_count: int) -> Floats:
    """The vote of each operator, higher for less variation, up to a maximum share."""
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


def group_median(group: Ints, value: Floats) -> Floats:
    """The median of the group of each value."""
    return Groups(group).median(value)[group]


def _spread_out(operators: Operators, night: NightValues, state: Floats, share: Floats) -> Floats:
    """The state of each value: of its unit; for containers, of both units by their time."""
    state, share = state.reshape(-1, _UNITS), share.reshape(-1, _UNITS)
    unit = operators.unit[night.series]
    is_whole = (operators.kernel[night.series] == NO_KERNEL) & (unit == KERNELS)
    with np.errstate(invalid="ignore", divide="ignore"):
        mixed = np.log(np.nansum(np.exp(state) * share, axis=1) / share.sum(axis=1))
    own = state[night.dump, np.maximum(unit, 0)]
    spread: Floats = np.where(is_whole, mixed[night.dump], own)
    return np.where(unit == NO_UNIT, np.nan, spread)


class PairStates(NamedTuple):
    """The states of the device in the dumps of two builds; NaN if unknown.

    Both arrays have the shape (dumps, 3): kernels, delegates, and containers of both.

    Attributes:
        state: Distance of the device from its usual state in the base.
        shift: The median state over the dumps of the head, equal in all dumps of a family.
    """

    state: Floats
    shift: Floats


def pair_states(
    operators: Operators, values: NightValues, is_head: Mask, family: Ints
) -> PairStates:
    """The states of the dumps of a base and a head, by the levels of the base."""
    is_whole = (operators.kernel == NO_KERNEL) & (operators.unit == KERNELS)
    unit = np.where(is_whole, WHOLE, operators.unit)[values.series]
    state = np.full((values.dump_count, WHOLE + 1), np.nan)
    state[values.dump, unit] = _states_by_base(operators, values, is_head, family)
    count = int(family.max(initial=-1)) + 1
    medians = np.full((2, count, WHOLE + 1), np.nan)
    for own, median in ((~is_head, medians[0]), (is_head, medians[1])):
        dump, place = np.nonzero(own[:, None] & ~np.isnan(state))
        scope = family[dump] * (WHOLE + 1) + place
        median[family[dump], place] = group_median(scope, state[dump, place])
    usual, now = medians[:, family]
    return PairStates(state - usual, now - usual)


def _states_by_base(
    operators: Operators, values: NightValues, is_head: Mask, family: Ints
) -> Floats:
    """The state of each value, from the levels and spreads of the base without its own states."""
    nothing, alike = np.full(len(operators.unit), np.nan), np.ones(len(operators.unit))
    usual = UsualLevels(nothing, nothing, alike, alike * 0, alike < 1)
    recording = 2 * family + is_head
    chosen = np.flatnonzero(~is_head[values.dump])
    base = NightValues(
        values.series[chosen], values.dump[chosen], values.value[chosen], values.dump_count
    )
    state = dump_states(operators, base, usual, recording)
    residual = base.value - np.nan_to_num(state)
    level, spread = nothing.copy(), nothing.copy()
    middle = group_median(base.series, residual)
    level[base.series] = middle
    spread[base.series] = MAD_TO_SD * group_median(base.series, np.abs(residual - middle))
    usual = usual._replace(level=level, spread=spread)
    return dump_states(operators, values, usual, recording)
