from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.fleet_rows import make_fleet
from tests.support.pool_rows import rows
from tracehouse.warehouse.regressions.parts import spread_to_devices
from tracehouse.warehouse.regressions.replay import replay

NIGHTS = 14
FIRST_BAD = 12


def told(found):
    result = replay(found.history)
    return result, spread_to_devices(result, found.pool)


def poor_pool(size, nights=NIGHTS):
    """Devices with too few dumps and too unsteady for any to show a change by itself."""
    levels = np.random.default_rng(5).normal(0, 0.02, (12, nights))
    levels[:, FIRST_BAD:] += size
    return make_fleet(row for n in range(12) for row in rows(levels[n], device=n, dumps=4))


def test_a_change_only_the_pool_shows_is_confirmed_and_passed_to_its_devices():
    found = poor_pool(0.06)
    result, members = told(found)
    (pool,) = result.changes
    assert found.is_pool[pool.series]
    assert (pool.first_bad, pool.confirmed) == (FIRST_BAD, FIRST_BAD + 1)
    assert pool.shift == pytest.approx(0.06, abs=0.01)
    assert len(members) > 8
    assert {(change.pool, change.pool_shift) for change in members} == {(pool.series, pool.shift)}
    assert {(change.first_bad, change.confirmed) for change in members} == {(12, 13)}
    assert all(change.shift > 0.03 for change in members)
    assert not any(found.is_pool[change.series] for change in members)


def test_a_pool_in_which_nothing_changed_is_silent():
    assert told(poor_pool(0.0))[1] == []


def test_a_device_that_shows_the_pool_change_itself_is_reported_once():
    levels = [0.0] * FIRST_BAD + [0.1] * 2
    found = make_fleet(row for n in range(6) for row in rows(levels, device=n))
    result, changes = told(found)
    assert len(result.changes) == 7
    assert [change.series for change in changes] == list(range(6))
    assert {change.pool for change in changes} == {None}


def test_a_pool_change_is_not_reported_for_unchanged_or_absent_devices():
    slower, same = [0.0] * FIRST_BAD + [0.1] * 2, [0.0] * NIGHTS
    gone = [0.0] * FIRST_BAD + [None] * 2
    levels = [*[slower] * 10, same, gone]
    found = make_fleet(row for n, own in enumerate(levels) for row in rows(own, device=n, dumps=4))
    result, changes = told(found)
    assert [found.is_pool[change.series] for change in result.changes] == [True]
    assert [change.series for change in changes] == list(range(10))


def step(size, first_bad=FIRST_BAD, nights=NIGHTS):
    return [size * (night >= first_bad) for night in range(nights)]


def test_devices_that_change_at_different_builds_are_reported_with_their_own():
    levels = [*[step(0.2, 12, 18)] * 6, *[step(0.15, 15, 18)] * 6]
    found = make_fleet(row for n, own in enumerate(levels) for row in rows(own, device=n))
    result, changes = told(found)
    assert {change.first_bad for change in result.changes if found.is_pool[change.series]} >= {12}
    assert [(change.series, change.first_bad) for change in changes] == [
        *((series, 12) for series in range(6)),
        *((series, 15) for series in range(6, 12)),
    ]


def test_a_device_that_changed_earlier_is_reported_with_its_own_change_only():
    levels = [*[step(0.15, 15, 18)] * 6, *[step(0.2, 12, 18)] * 6]
    found = make_fleet(row for n, own in enumerate(levels) for row in rows(own, device=n))
    _, changes = told(found)
    assert {(change.series < 6, change.first_bad) for change in changes} == {
        (True, 15),
        (False, 12),
    }
    assert len(changes) == 12


def test_a_device_that_moved_much_less_than_those_that_show_the_change_is_not_told():
    levels = [*[step(0.3)] * 6, *[step(0.0)] * 5, step(0.12)]
    found = make_fleet(
        row
        for n, own in enumerate(levels)
        for row in rows(own, device=n, dumps=10 if n < 6 else 4)  # too few to show a change
    )
    result, changes = told(found)
    (pool,) = (change for change in result.changes if found.is_pool[change.series])
    assert 0.12 / pool.shift > 0.5  # what the pool says of all of them
    assert [change.series for change in changes] == list(range(6))


@pytest.mark.parametrize("away", [-1, 1, 2])
def test_a_change_begins_where_the_devices_that_share_it_show_it(away):
    found = poor_pool(0.1, nights=NIGHTS + 3)
    result = replay(found.history)
    (pool,) = result.changes
    shifted = result._replace(changes=[replace(pool, first_bad=FIRST_BAD + away)])
    changes = spread_to_devices(shifted, found.pool)
    assert len(changes) == 12
    assert {(change.first_bad, change.last_good) for change in changes} == {(12, 11)}
    assert {int(change.base[-1]) for change in changes} == {11}
