from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import LEVEL, history, nights
from warehouse.regressions.baseline import find_base
from warehouse.regressions.history import summarise_cells
from warehouse.regressions.states import StateCells, summarise_states
from warehouse.statistics.device_states import NightValues


def find(known, usable, states=None, *, builds=8):
    """The base of these builds; their states are 0 unless they are given."""
    return find_base(
        known, summarise_cells(known), states or filled(known), np.asarray(usable), builds
    )


def filled(known, states=()):
    """The cells of a history of one series, whose dumps have these states, night by night."""
    cells = StateCells.empty((1, known.build_count))
    for build in range(known.build_count):
        values = known.values[known.start[build] : known.start[build + 1]]
        count = len(values)
        own = NightValues(np.zeros(count, int), np.arange(count), values, count)
        state = np.full(count, states[build] if len(states) else 0.0)
        summarise_states(cells, build, own, state, np.ones(1))
    return cells


def test_the_base_is_the_last_usable_builds_that_have_dumps():
    levels = [0.0, 0.1, 0.2, None, 0.4, 0.5, 0.6]
    known = history([nights(1, levels, wander=0)])
    base = find(known, [[True, True, True, True, False, True]], builds=3)
    assert base.chosen.tolist() == [[False, True, True, False, False, True]]
    assert (base.builds.tolist(), base.dumps.tolist()) == ([3], [30])
    assert base.raw == pytest.approx([LEVEL + 0.2])


def test_the_states_of_the_device_are_taken_from_the_base():
    known = history([nights(1, [0.0, 0.5, 0.0], wander=0)])
    states = filled(known, [0.0, 0.5, 0.0])
    base = find(known, np.ones((1, 2), bool), states)
    assert base.residual == pytest.approx([LEVEL], abs=0.01)
    assert base.raw == pytest.approx([LEVEL + 0.25])
    assert base.state == pytest.approx([0.25])
    assert base.reaction == pytest.approx([1.0], abs=0.05)
    assert base.state_error < 0.05


def test_a_series_without_a_base_has_no_level():
    known = history([nights(1, [None, None, 0.0])])
    base = find(known, np.ones((1, 2), bool))
    assert base.builds.tolist() == [0]
    assert np.isnan(base.raw[0])
