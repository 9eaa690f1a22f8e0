from __future__ import annotations

import numpy as np
import pytest

from tracehouse.warehouse.regressions.states import (
    StateCells,
    find_reaction,
    find_state_error,
    find_steadiness,
    find_unrest,
    summarise_states,
)
from tracehouse.warehouse.statistics.device_states import (
    DELEGATE,
    KERNELS,
    NO_KERNEL,
    NO_UNIT,
    NightValues,
)


def test_the_reaction_is_learned_from_nights_whose_states_differ():
    cells, rng = StateCells.empty((4, 2)), np.random.default_rng(1)
    for build, night_state in enumerate([0.0, -0.2, 0.1, 0.2]):
        state = np.repeat(night_state + rng.normal(0, 0.02, 10), 2)
        value = 5.0 + state * np.tile([0.4, 1.5], 10) + rng.normal(0, 0.01, 20)
        night = NightValues(np.tile([0, 1], 10), np.repeat(np.arange(10), 2), value, 10)
        summarise_states(cells, build, night, state, np.ones(2))
    reaction, doubt = find_reaction(cells.moments, cells.state, np.full(2, 4))
    assert reaction == pytest.approx([0.4, 1.5], abs=0.05)
    assert doubt.max() < 0.05


def test_the_reaction_is_1_if_states_do_not_differ():
    cells, rng = StateCells.empty((1, 1)), np.random.default_rng(2)
    night = NightValues(np.zeros(10, int), np.arange(10), 5.0 + rng.normal(0, 0.02, 10), 10)
    summarise_states(cells, 0, night, np.full(10, 0.3), np.ones(1))
    alike = find_reaction(cells.moments, cells.state, np.ones(1, int))
    assert np.ravel(alike) == pytest.approx([1.0, 0.25])
    unknown = find_reaction(np.zeros((5, 1, 1)), np.zeros((1, 1)), np.zeros(1, int))
    assert np.ravel(unknown) == pytest.approx([1.0, 0.25])


def test_a_device_is_steady_if_the_states_of_at_least_three_nights_are_alike():
    nan = np.nan
    states = [[0.1, 0.0, nan], [0.1, 0.1, 0.1], [0.1, 0.0, 0.1], [nan, 0.1, nan]]
    spread, is_steady = find_steadiness(np.array(states))
    assert is_steady.tolist() == [True, False, False]
    assert spread[0] == pytest.approx(0.03 / 2**0.5)
    assert spread[1] == pytest.approx(((4 * 0.05**2 + 0.03**2) / 3) ** 0.5)


def test_operators_that_are_farther_from_their_levels_than_usual_are_unrest_of_their_unit():
    kernel = np.array([0, 1, 2, 0, 1, 2, NO_KERNEL, NO_KERNEL, 0])
    unit = np.array([KERNELS] * 3 + [DELEGATE] * 3 + [KERNELS, DELEGATE, NO_UNIT])
    far = np.array([3.0, -4.0, 50.0, 0.1, 0.2, np.nan, 9.0, 9.0, 9.0])
    found = find_unrest(np.zeros(9, int), kernel, unit, far)
    assert found == pytest.approx([4 * 1.4826] * 3 + [1.0] * 3 + [4 * 1.4826, 1.0, 1.0])


def test_unrest_adds_no_larger_error_than_the_state_of_the_device_may_have():
    steady, busy = find_state_error(0.02, np.zeros(2), np.array([0.01, 0.2]), 0.01, np.array([5.0]))
    assert (steady, busy) == (0.02, pytest.approx(0.01 * 24**0.5))
    assert find_state_error(-0.2, 0.1, 0.01, 0.01, 1.0) == pytest.approx(0.02)
