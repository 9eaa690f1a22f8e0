from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.histories import LEVEL, NOISE, history, nights
from warehouse.regressions.mode_shares import compare_shares
from warehouse.regressions.replay import replay

DUMPS = 8
GAP = math.log(4 / 3)  # 3.0 us or 4.0 us
BEFORE = [1, 2, 2, 1, 2] * 3  # slow dumps of a night: 8 of 40


def slow_nights(counts):
    """Nights of a series with so many slow dumps each."""
    for number, slow in enumerate(counts):
        values = LEVEL + np.random.default_rng(number * 7 + 1).normal(0, NOISE, DUMPS)
        values[:slow] += GAP
        yield values


def changes(counts):
    """What is told of the series as of the last of these nights, beside four quiet ones."""
    others = [nights(50 + number, [0.0] * len(counts), dumps=DUMPS) for number in range(4)]
    return replay(history([list(slow_nights(counts)), *others])).changes


@pytest.mark.parametrize("after", [[7, 6, 5], [5, 6, 7]])
def test_shares_of_modes_add_up_over_nights(after):
    (change,) = changes(BEFORE + after)  # 18 of 24
    assert (change.series, change.direction, change.suspected) == (0, 1, len(BEFORE))
    assert change.confirmed is not None
    assert change.shift == pytest.approx(GAP * (18 / 24 - 8 / 40), abs=0.04)


def test_another_share_that_stays_stays_confirmed_and_its_nights_are_the_base():
    for more in ([6], [6, 7, 5, 6, 6]):
        (change,) = changes([*BEFORE, 7, 6, 5, *more])
        assert change.confirmed is not None
        assert change.fixed is None


def test_another_share_that_goes_away_is_fixed():
    (change,) = changes([*BEFORE, 7, 6, 5, 1, 2])
    assert change.fixed == len(BEFORE) + 3


def test_fewer_slow_dumps_are_an_improvement():
    (change,) = changes([6, 7, 5, 6, 6] * 3 + [1, 2, 1])
    assert (change.direction, change.confirmed is not None) == (-1, True)


@pytest.mark.parametrize("after", [[3, 1, 2, 2, 1, 2, 0, 3], [6, 1, 2], [2, 3, 1, 3]])
def test_shares_that_differ_by_chance_are_no_change(after):
    assert changes(BEFORE + after) == []


def test_nights_in_clusters_prove_less():
    dumps, head = np.full(20, 8), (np.full(2, 8), np.array([6, 7]))
    nights = {
        "steady": (dumps, np.array([2, 1, 2, 2, 1] * 4)),
        "clustered": (dumps, np.array([6, 0, 0, 2, 0] * 4)),
    }
    found = {name: compare_shares(own, head, own, GAP) for name, own in nights.items()}
    assert {share.base for share in found.values()} == {0.2}
    assert found["steady"].head == 13 / 16
    assert found["steady"].p < 1e-4 < found["clustered"].p


def test_few_nights_before_prove_less():
    head, own = (np.full(3, 8), np.array([6, 7, 6])), (np.full(8, 8), np.array([2, 1] * 4))
    few = np.full(3, 8), np.array([2, 1, 2])
    many = tuple(np.tile(each, 4) for each in own)
    p = [compare_shares(own, head, before, GAP).p for before in (many, own, few)]
    assert p == sorted(p)
