"""A device that becomes quiet or busy: all operators move, each by a part of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import LEVEL, history, nights
from tracehouse.warehouse.regressions.replay import replay

BEFORE = 12  # nights before the device changes
AFTER = 9
REACTIONS = np.linspace(0.3, 2.0, 12)  # of the operators: memory-bound ones react less
PLANTED = int(np.argmin(np.abs(REACTIONS - 1)))
TEN_PERCENT = np.log(1.1)


def confirmed(move, *, planted=None, size=TEN_PERCENT, seed=0):
    """What is confirmed of operators of which one gets slower by itself in the night `planted`."""
    shared = np.repeat([0.0, move], [BEFORE, AFTER])
    cells = []
    for number, reaction in enumerate(REACTIONS):
        levels = reaction * shared
        if planted is not None and number == PLANTED:
            levels[planted:] += size
        cells.append(nights(seed * 100 + number, levels.tolist()))
    return [change for change in replay(history(cells)).changes if change.confirmed is not None]


@pytest.mark.parametrize("move", [-0.3, -0.1, 0.05, 0.2])
def test_a_move_that_all_operators_share_is_no_change_of_any(move):
    assert confirmed(move) == []


@pytest.mark.parametrize(
    ("move", "planted"),
    [(-0.2, BEFORE - 4), (0.2, BEFORE + 4)],
)
def test_an_operator_that_changes_in_another_night_is_confirmed(move, planted):
    (change,) = confirmed(move, planted=planted)
    assert (change.series, change.direction, change.first_bad) == (PLANTED, 1, planted)


def test_an_operator_that_moves_against_the_others_is_confirmed():
    (change,) = confirmed(-0.05, planted=BEFORE, size=np.log(1.2))
    assert (change.series, change.direction, change.first_bad) == (PLANTED, 1, BEFORE)


def test_a_device_that_goes_back_and_forth_hides_nothing():
    shared = 0.25 * (np.arange(24) % 4 == 3)
    cells = [nights(number, shared.tolist()) for number in range(8)]
    slower = shared + TEN_PERCENT * (np.arange(24) >= 18)
    (change,) = replay(history([nights(8, slower.tolist()), *cells])).changes
    assert (change.series, change.first_bad, change.confirmed) == (0, 18, 19)


def phases(state, first_bad, *, seed):
    """What is confirmed where the first half of 16 operators gets 20 % slower at once.

    `state` is how far the device moves its operators in a night and in a dump, at most.
    """
    rng, count = np.random.default_rng(seed), first_bad + 4
    shared = rng.uniform(-state, state, (count, 1)) + rng.uniform(-state, state, (count, 10))
    values = LEVEL + shared + rng.normal(0, 0.02, (16, count, 10))
    values[:8, first_bad:] += np.log(1.2)
    kernels = [number % 8 for number in range(16)]
    found = replay(history(values.tolist(), kernel=kernels)).changes
    return {(change.series, change.direction) for change in found if change.confirmed is not None}


@pytest.mark.parametrize("first_bad", [4, BEFORE])
def test_half_of_the_operators_of_a_steady_device_are_slower_and_the_others_not_faster(first_bad):
    assert phases(0.0, first_bad, seed=1) == {(number, 1) for number in range(8)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("first_bad", [4, BEFORE])
def test_a_change_of_half_the_operators_of_a_busy_device_is_not_reported(first_bad, seed):
    assert phases(0.2, first_bad, seed=seed) == set()
