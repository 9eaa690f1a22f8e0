from __future__ import annotations

import numpy as np
import pytest

from tracehouse.warehouse.statistics.device_states import (
    DELEGATE,
    KERNELS,
    NO_KERNEL,
    NO_UNIT,
    Groups,
    NightValues,
    Operators,
    UsualLevels,
    dump_states,
    pair_states,
)

NAN = np.nan


def states(moved, *, spread=None, reaction=None, level=None, kernel=None, unit=None, state=None):
    """The states of dumps; `moved` has a row per dump: how far each series is from its level.

    If `state` is given, it is where the device always was.
    """
    moved = np.asarray(moved, float)
    dumps, count = moved.shape
    levels = np.zeros(count) if level is None else np.asarray(level, float)
    usual = UsualLevels(
        levels,
        np.full(count, 0.02) if spread is None else np.asarray(spread, float),
        np.ones(count) if reaction is None else np.asarray(reaction, float),
        np.full(count, state or 0.0),
        np.full(count, state is not None),
    )
    night = NightValues(
        np.tile(np.arange(count), dumps),
        np.repeat(np.arange(dumps), count),
        (moved + np.nan_to_num(levels)).ravel(),
        dumps,
    )
    operators = Operators(
        np.arange(count) if kernel is None else np.array(kernel),
        np.full(count, KERNELS) if unit is None else np.array(unit),
        np.zeros(count),
    )
    return dump_states(operators, night, usual, np.zeros(dumps, int)).reshape(moved.shape)


def test_all_values_of_a_dump_have_the_state_that_most_of_its_operators_show():
    found = states([[0.05, 0.05, 0.05, 0.05, 0.3, -0.2], [0.1] * 6])
    assert found[0] == pytest.approx([0.05] * 6)
    assert found[1] == pytest.approx([0.1] * 6)


@pytest.mark.parametrize(("operators", "expected"), [(2, NAN), (3, 0.1)])
def test_fewer_than_three_operators_tell_no_state(operators, expected):
    assert states([[0.1] * operators])[0] == pytest.approx([expected] * operators, nan_ok=True)


def test_an_operator_type_has_a_third_of_the_votes_at_most():
    kernel = [0] * 20 + [1, 2, 3, 4, 5]
    assert states([[0.2] * 20 + [0.01] * 5], kernel=kernel)[0] == pytest.approx([0.01] * 25)


def test_an_operator_has_a_sixth_of_the_votes_at_most():
    spread = [0.01] + [0.5] * 7
    assert states([[0.2] + [0.0] * 7], spread=spread)[0] == pytest.approx([0.0] * 8)


def test_an_operator_that_varies_little_has_more_votes():
    moved, spread = [0.1] * 3 + [0.0] * 4, [0.02] * 3 + [0.5] * 4
    assert states([moved], spread=spread)[0] == pytest.approx([0.1] * 7)
    assert states([moved])[0] == pytest.approx([0.0] * 7)


def test_an_operator_that_reacts_more_shows_the_state_by_less():
    reaction = [1.0, 1.0, 0.5, 2.0, 2.0]
    moved = [0.1, 0.1, 0.05, 0.2, 0.2]
    assert states([moved], reaction=reaction)[0] == pytest.approx([0.1] * 5)


def test_kernels_and_delegates_have_states_of_their_own():
    unit = [KERNELS] * 4 + [DELEGATE] * 4
    found = states([[0.1] * 4 + [-0.3] * 4], unit=unit)
    assert found[0] == pytest.approx([0.1] * 4 + [-0.3] * 4)


def test_a_method_has_the_state_of_its_parts_by_their_time():
    unit = [KERNELS] * 4 + [DELEGATE] * 3
    kernel = [NO_KERNEL, 0, 1, 2, 3, 4, 5]
    level = np.log([2000, 100, 100, 100, 300, 300, 300])
    found = states([[0.9] + [0.1] * 3 + [0.3] * 3], unit=unit, kernel=kernel, level=level)
    expected = np.log((300 * np.exp(0.1) + 900 * np.exp(0.3)) / 1200)
    assert found[0, 0] == pytest.approx(expected)


def test_operators_cancelled_by_a_reference_have_no_state_and_no_vote():
    unit = [NO_UNIT] * 5 + [KERNELS] * 3
    assert states([[0.5] * 5 + [0.1] * 3], unit=unit)[0] == pytest.approx(
        [NAN] * 5 + [0.1] * 3, nan_ok=True
    )


def test_device_states_without_a_base_come_from_the_levels_of_the_same_night():
    levels, shared = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.1, -0.1])
    found = states(levels + shared[:, None], level=[NAN] * 4)
    assert found - found[0] == pytest.approx(np.tile(shared[:, None], 4))


def test_a_new_operator_gets_the_device_state_of_the_others_without_a_vote():
    found = states([[0.7, 0.1, 0.1, 0.1]], level=[NAN, 0.0, 0.0, 0.0])
    assert found[0] == pytest.approx([0.1] * 4)


def test_changed_operators_do_not_affect_the_device_state():
    shared, changed = np.array([0.0, 0.02, -0.02]), np.array([0.0] * 4 + [0.2] * 3)
    found = states(shared[:, None] + changed)
    assert found[:, 0] == pytest.approx(shared)


def test_a_steady_device_keeps_its_state_if_operators_disagree():
    halves = [0.3] * 4 + [0.1] * 4
    assert states([halves])[0] == pytest.approx([0.2] * 8)
    assert states([halves], state=0.1)[0] == pytest.approx([0.1] * 8)
    assert states([[0.3] * 5 + [0.1] * 3], state=0.1)[0] == pytest.approx([0.3] * 8)


def test_the_weighted_median_of_two_halves_is_between_them():
    group, value = np.array([0, 0, 1, 1, 1]), np.array([1.0, 3.0, 5.0, 9.0, 7.0])
    weight = np.array([1.0, 1.0, 1.0, 3.0, 1.0])
    assert Groups(group, 3).weighted_median(value, weight).tolist() == [2.0, 9.0, 0.0]


def test_median_of_groups_of_all_sizes():
    group = np.repeat([5, 0, 3, 1], [9, 1, 2, 40])
    value = np.random.default_rng(7).normal(size=len(group))
    found = Groups(group, 8).median(value)
    wanted = [np.median(value[group == each]) if each in group else NAN for each in range(8)]
    assert np.array_equal(found, wanted, equal_nan=True)
    assert len(Groups(group[:0]).median(value[:0])) == 0


def test_the_weighted_median_of_an_even_group_is_the_mean_of_the_middle_two():
    count = 20_000
    group, value = np.repeat(np.arange(count), 6), np.tile(np.arange(6.0), count)
    found = Groups(group).weighted_median(value, np.full(6 * count, 1 / 6))
    assert np.unique(found).tolist() == [2.5]


def _pair(moved, kernel, unit):
    """The states of pairs of builds: by family and dump, the first half of these the base's."""
    families, dumps, count = moved.shape
    number = np.arange(families * dumps)
    values = NightValues(
        (np.arange(families)[:, None] * count + np.arange(count)).repeat(dumps, 0).ravel(),
        number.repeat(count),
        moved.ravel(),
        len(number),
    )
    operators = Operators(
        np.tile(kernel, families), np.tile(unit, families), np.zeros(families * count)
    )
    is_head = np.tile(np.arange(dumps) >= dumps // 2, families)
    return pair_states(operators, values, is_head, number // dumps)


def test_states_of_a_pair_are_those_that_all_its_operators_share():
    generator = np.random.default_rng(1)
    state = generator.normal(0, 0.2, (2, 20, 2))
    state[0, 10:, 0] += 0.3
    unit = np.array([KERNELS] * 7 + [DELEGATE] * 5)
    kernel = np.array([NO_KERNEL, *range(11)])
    level = np.log(generator.uniform(1e4, 1e6, 12))
    moved = level + state[:, :, unit] + generator.normal(0, 0.001, (2, 20, 12))
    moved[:, 10:, 3] += 0.2  # one operator changed by itself
    found = _pair(moved, kernel, unit)
    usual = np.median(state[:, :10], axis=1, keepdims=True)
    shown = found.state[:, :2].reshape(2, 20, 2)
    assert shown == pytest.approx(state - usual, abs=0.01)
    expected = np.median(state[:, 10:] - usual, axis=1)
    assert found.shift[::20, :2] == pytest.approx(expected, abs=0.01)
    total = np.log(np.exp(level[1:] + state[:, :, unit[1:]]).sum(axis=2))  # of a method
    whole = total - np.median(total[:, :10], axis=1, keepdims=True)
    assert found.state[:, 2].reshape(2, 20) == pytest.approx(whole, abs=0.01)


def test_a_head_without_a_base_has_no_state():
    found = _pair(np.zeros((1, 1, 4)), np.arange(4), np.full(4, KERNELS))
    assert np.isnan(found.state).all()
    assert np.isnan(found.shift).all()
