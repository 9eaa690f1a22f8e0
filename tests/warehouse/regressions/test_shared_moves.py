"""A device that becomes quiet or busy: all operators of its dumps move, each by a part of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import history, nights
from warehouse.regressions.replay import replay

BEFORE = 12  # nights before the device changes
AFTER = 9
REACTIONS = np.linspace(0.3, 2.0, 12)  # of the operators: memory-bound ones react less
STEEP = REACTIONS[::-1] ** 2 / 1.7  # some react more than three times as much as the others
PLANTED = int(np.argmin(np.abs(REACTIONS - 1)))
TEN_PERCENT = np.log(1.1)


def confirmed(move, *, planted=None, size=TEN_PERCENT, seed=0, wander=0.004, reactions=REACTIONS):
    """What is confirmed of operators of which one gets slower by itself in the night `planted`."""
    shared = np.repeat([0.0, move], [BEFORE, AFTER])
    cells = []
    for number, reaction in enumerate(reactions):
        levels = reaction * shared
        if planted is not None and number == PLANTED:
            levels[planted:] += size
        cells.append(nights(seed * 100 + number, levels.tolist(), wander=wander))
    return [change for change in replay(history(cells)).changes if change.confirmed is not None]


@pytest.mark.parametrize("move", [-0.3, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.3])
def test_what_all_operators_share_is_no_change_of_any(move):
    for seed in range(3):
        assert confirmed(move, seed=seed) == []


@pytest.mark.parametrize("planted", [BEFORE - 4, BEFORE + 5])
@pytest.mark.parametrize("move", [-0.2, 0.2])
def test_an_operator_that_changes_in_another_night_is_confirmed(move, planted):
    (change,) = confirmed(move, planted=planted)
    assert (change.series, change.direction, change.first_bad) == (PLANTED, 1, planted)


def test_an_operator_that_goes_against_the_others_is_confirmed():
    (change,) = confirmed(-0.05, planted=BEFORE)
    assert (change.series, change.direction, change.first_bad) == (PLANTED, 1, BEFORE)
