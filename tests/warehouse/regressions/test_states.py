from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import series
from warehouse.regressions.states import StateCells, find_reaction, summarise_states
from warehouse.statistics.device_states import (
    DELEGATE,
    KERNELS,
    NO_KERNEL,
    NO_UNIT,
    NightValues,
    Usual,
    dump_states,
    weighted_median,
)

NAN = np.nan


def states(moved, *, spread=None, reaction=None, level=None, **changes):
    """The states of dumps; `moved` has a row per dump: how far each series is from its level."""
    moved = np.asarray(moved, float)
    dumps, count = moved.shape
    levels = np.zeros(count) if level is None else np.asarray(level, float)
    usual = Usual(
        levels,
        np.full(count, 0.02) if spread is None else np.asarray(spread, float),
        np.ones(count) if reaction is None else np.asarray(reaction, float),
    )
    night = NightValues(
        np.tile(np.arange(count), dumps),
        np.repeat(np.arange(dumps), count),
        (moved + np.nan_to_num(levels)).ravel(),
        dumps,
    )
    return dump_states(series(count, **changes), night, usual).reshape(moved.shape)


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


def test_what_the_reference_build_cancelled_has_no_state_and_no_vote():
    unit = [NO_UNIT] * 5 + [KERNELS] * 3
    assert states([[0.5] * 5 + [0.1] * 3], unit=unit)[0] == pytest.approx(
        [NAN] * 5 + [0.1] * 3, nan_ok=True
    )


def test_without_a_base_states_are_told_from_the_levels_of_the_night_itself():
    levels, shared = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.1, -0.1])
    found = states(levels + shared[:, None], level=[NAN] * 4)
    assert found - found[0] == pytest.approx(np.tile(shared[:, None], 4))


def test_an_operator_that_is_new_has_no_vote_and_the_state_of_the_others():
    found = states([[0.7, 0.1, 0.1, 0.1]], level=[NAN, 0.0, 0.0, 0.0])
    assert found[0] == pytest.approx([0.1] * 4)


def test_the_reaction_is_learned_from_nights_whose_states_differ():
    cells, rng = StateCells.empty((2, 4)), np.random.default_rng(1)
    for build, night_state in enumerate([0.0, -0.2, 0.1, 0.2]):
        state = np.repeat(night_state + rng.normal(0, 0.02, 10), 2)
        value = 5.0 + state * np.tile([0.4, 1.5], 10) + rng.normal(0, 0.01, 20)
        night = NightValues(np.tile([0, 1], 10), np.repeat(np.arange(10), 2), value, 10)
        summarise_states(cells, build, night, state, np.ones(2))
    row, build = (each.ravel() for each in np.indices((2, 4)))
    reaction, doubt = find_reaction(cells, row, build)
    assert reaction == pytest.approx([0.4, 1.5], abs=0.05)
    assert doubt.max() < 0.05


def test_the_reaction_is_one_where_states_do_not_differ():
    cells, rng = StateCells.empty((1, 1)), np.random.default_rng(2)
    night = NightValues(np.zeros(10, int), np.arange(10), 5.0 + rng.normal(0, 0.02, 10), 10)
    summarise_states(cells, 0, night, np.full(10, 0.3), np.ones(1))
    one = np.zeros(1, int)
    assert np.ravel(find_reaction(cells, one, one)) == pytest.approx([1.0, 0.25])
    nothing = np.zeros(0, int)
    unknown = find_reaction(StateCells.empty((1, 1)), nothing, nothing)
    assert np.ravel(unknown) == pytest.approx([1.0, 0.25])


def test_the_weighted_median_of_two_halves_is_between_them():
    group, value = np.array([0, 0, 1, 1, 1]), np.array([1.0, 3.0, 5.0, 9.0, 7.0])
    weight = np.array([1.0, 1.0, 1.0, 3.0, 1.0])
    assert weighted_median(group, value, weight, 3).tolist() == [2.0, 9.0, 0.0]
