from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.support.fleet_rows import make_fleet
from tests.support.histories import LEVEL
from tests.support.pool_rows import rows
from tracehouse.warehouse.regressions.pools import NO_POOL


def pool_values(found):
    """Values of the first series of a pool, a list per night."""
    series = int(np.flatnonzero(found.is_pool)[0])
    count = found.history.build_count
    starts = found.history.start[series * count : (series + 1) * count + 1]
    return [found.history.values[a:b].tolist() for a, b in pairwise(starts)]


@pytest.mark.parametrize(
    ("devices", "pool", "expected"), [(5, "phones", 1), (4, "phones", 0), (5, None, 0)]
)
def test_a_pool_gets_its_own_series_from_five_devices_on(devices, pool, expected):
    found = make_fleet(row for n in range(devices) for row in rows([0, 0], device=n, pool=pool))
    assert found.is_pool.tolist() == [False] * devices + [True] * expected
    assert (
        found.pool.tolist() == [devices if expected else NO_POOL] * devices + [NO_POOL] * expected
    )
    assert [found.name(n)["device"] for n in np.flatnonzero(found.is_pool)] == [None] * expected


def test_pools_models_and_operators_are_told_apart():
    found = make_fleet(
        row
        for n in range(10)
        for model in ("a", "b")
        for event in ("native_call_conv.out", "native_call_add.out")
        for row in rows([0], device=n, pool=f"p{n % 2}", model=model, event_name=event)
    )
    names = [found.name(n) for n in np.flatnonzero(found.is_pool)]
    assert [(x["pool"], x["model"], x["event_name"][12:-4]) for x in names] == [
        (pool, model, event) for pool in ("p0", "p1") for model in "ab" for event in ("add", "conv")
    ]


def test_a_pool_value_is_the_distance_from_the_first_level_of_the_device():
    unlike = [number - 3.0 for number in range(5)]  # devices of other speeds
    found = make_fleet(
        row
        for n, own in enumerate(unlike)
        for row in rows([own, own, own, own, own + 0.01 * n], device=n)
    )
    values = pool_values(found)
    assert values[0] == pytest.approx([0] * 5, abs=1e-9)
    assert values[4] == pytest.approx([0, 0.01, 0.02, 0.03, 0.04], abs=1e-9)


def test_later_nights_do_not_change_the_values_of_earlier_ones():
    levels = np.random.default_rng(1).normal(0, 0.02, (5, 8))
    whole = make_fleet(row for n in range(5) for row in rows(levels[n], device=n))
    for stop in range(1, 8):
        cut = make_fleet(row for n in range(5) for row in rows(levels[n, :stop], device=n))
        assert pool_values(cut) == pool_values(whole)[:stop]


def test_a_shift_of_a_whole_device_is_removed_from_operators_but_not_methods():
    def values(operators, **fields):
        names = [f"native_call_op{number}.out" for number in range(operators)]
        table = [
            row
            for n in range(5)
            for name in names
            for row in rows([0, 0, 0.1 * (n == 3)], device=n, event_name=name, **fields)
        ]
        return pool_values(make_fleet(table))[2]

    assert values(6) == pytest.approx([0] * 5, abs=1e-9)
    assert values(5) == pytest.approx([0] * 4 + [0.1], abs=1e-9)
    assert values(6, kind="method") == pytest.approx([0] * 4 + [0.1], abs=1e-9)


def test_many_devices_share_24_values():
    found = make_fleet(
        row for n in range(48) for row in rows([0] * 4 + [0.1 * (n >= 24)], device=n)
    )
    assert pool_values(found)[4] == pytest.approx([0.05] * 24, abs=1e-9)


def test_a_device_that_comes_later_changes_nothing_of_before():
    def table(first):
        early = [row for n in range(48) for row in rows([0, 0.001 * n], device=n)]
        return early + rows([None, 0], device=first) if first is not None else early

    before = pool_values(make_fleet(table(None)))[0]
    assert pool_values(make_fleet(table(99)))[0] == before


def test_devices_below_the_clock_resolution_do_not_count_in_their_pool():
    found = make_fleet(
        row
        for n in range(6)
        for row in rows([0, 0], device=n, floor=np.exp(LEVEL + 1) if n == 0 else 1.0)
    )
    assert [len(values) for values in pool_values(found)] == [5, 5]
