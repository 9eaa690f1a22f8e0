from __future__ import annotations

import numpy as np
import pytest

from warehouse.regressions.states import StateCells, find_reaction, summarise_states
from warehouse.statistics.device_states import NightValues


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


def test_the_reaction_is_one_where_states_do_not_differ():
    cells, rng = StateCells.empty((1, 1)), np.random.default_rng(2)
    night = NightValues(np.zeros(10, int), np.arange(10), 5.0 + rng.normal(0, 0.02, 10), 10)
    summarise_states(cells, 0, night, np.full(10, 0.3), np.ones(1))
    alike = find_reaction(cells.moments, cells.state, np.ones(1, int))
    assert np.ravel(alike) == pytest.approx([1.0, 0.25])
    unknown = find_reaction(np.zeros((5, 1, 1)), np.zeros((1, 1)), np.zeros(1, int))
    assert np.ravel(unknown) == pytest.approx([1.0, 0.25])
