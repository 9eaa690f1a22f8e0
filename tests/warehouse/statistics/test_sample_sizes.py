import math
from itertools import permutations

import numpy as np
import pytest

from tests.support.plain_comparison import exact_p
from tracehouse.warehouse.statistics.two_samples import find_needed_dumps, find_smallest_changes


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 8, 12, 30])
def test_smallest_change_is_the_end_of_the_interval_against_dumps_of_the_same_kind(n):
    values = np.random.default_rng(n).normal(0, 0.05, n)
    rare = max(u for u in range(n * n) if exact_p(u, n, n) <= 0.01)
    differences = sorted(b - a for a, b in permutations(values, 2))
    place = math.ceil((1 - (rare + 0.5) / n**2) * n * (n - 1))
    (found,) = find_smallest_changes(np.array([[*values, math.nan]]))
    assert found == pytest.approx(differences[place - 1])


def test_smallest_change_needs_five_dumps():
    found = find_smallest_changes(np.array([[0.0, 0.1, 0.2, 0.3, math.nan], [math.nan] * 5]))
    assert np.isnan(found).all()


def test_smallest_change_of_many_dumps_is_smaller():
    values = np.random.default_rng(1).normal(0, 0.05, 400)
    few, many = (find_smallest_changes(values[None, :n])[0] for n in (20, 400))
    assert 0 < many < few / 2


def test_needed_dumps_are_those_whose_least_p_is_enough():
    found = find_needed_dumps(np.array([0.01, 1.6e-4, 1.5e-4, 1e-5, 1e-300]))
    assert found[:4].tolist() == [8, 8, 9, 11]
    assert 2 / math.comb(18, 9) <= 1.5e-4 < 2 / math.comb(16, 8)
    assert math.isnan(found[4])
