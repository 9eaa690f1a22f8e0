from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import LEVEL, history, nights
from tracehouse.warehouse.regressions.baseline import NO_BUILD, Bases
from tracehouse.warehouse.regressions.fleet import summarise_cells
from tracehouse.warehouse.regressions.states import StateCells, summarise_states
from tracehouse.warehouse.statistics.device_states import NightValues


def find(known, usable, states=None, *, builds=8):
    """The base of these builds; their states are 0 unless they are given."""
    bases = Bases(summarise_cells(known), states or filled(known), builds)
    for series, row in enumerate(usable):
        bases.use(series, np.flatnonzero(~np.asarray(row)), is_usable=False)
    return bases.find(len(usable[0]))


def filled(known, states=()):
    """The cells of a history of one series, whose dumps have these states, night by night."""
    cells = StateCells.empty((known.build_count, 1))
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
    assert base.chosen.tolist() == [[5], [2], [1]]
    assert base.list_builds(0).tolist() == [1, 2, 5]
    found = base.find_builds(np.array([0])).tolist()
    assert found == [[False, True, True, False, False, True]]
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
    assert base.find_builds(np.array([0])).tolist() == [[]]


def choose(is_usable, most_builds):
    """The last usable builds of each series, newest first."""
    chosen = [np.flatnonzero(row)[::-1][:most_builds].tolist() for row in is_usable]
    return [row + [NO_BUILD] * (most_builds - len(row)) for row in chosen]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_bases_from_night_to_night_are_those_of_all_builds_so_far(seed, most_builds):
    rng = np.random.default_rng(seed)
    cells = [[[LEVEL] * rng.integers(0, 3) for _ in range(12)] for _ in range(3)]
    known = history(cells)
    summaries = summarise_cells(known)
    states = StateCells.empty((12, 3))
    states.moments[0] = summaries.dump_count.T
    bases = Bases(summaries, states, most_builds)
    is_usable = summaries.dump_count > 0
    for build in range(13):
        base = bases.find(build)
        assert base.chosen.T.tolist() == choose(is_usable[:, :build], most_builds)
        assert base.dumps.tolist() == [
            summaries.dump_count[series, base.list_builds(series)].sum() for series in range(3)
        ]
        for series in rng.integers(0, 3, rng.integers(0, 3)).tolist():
            first, last = np.sort(rng.integers(0, build + 1, 2)).tolist()
            own, use = slice(first, last + 1), bool(rng.integers(0, 2))
            bases.use(series, own, is_usable=use)
            is_usable[series, own] = use & (summaries.dump_count[series, own] > 0)
