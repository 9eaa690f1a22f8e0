import math
from itertools import product

import numpy as np
import pytest

from tracehouse.warehouse.statistics.paired_samples import compare_pairs, interval_rank, student_p
from tracehouse.warehouse.statistics.two_samples import LEAST_PAIRS, least_p


def _compare(differences):
    base = np.zeros((1, len(differences)))
    return compare_pairs(base, np.array([differences], float))


def _enumerated(differences):
    """Two-sided p of the signed ranks, counted over all signs that the differences may have."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    middle = ranks.sum() / 2
    seen = abs(ranks[np.array(differences) > 0].sum() - middle)
    signs = product([0, 1], repeat=len(ranks))
    return np.mean([abs(np.dot(ranks, sign) - middle) >= seen for sign in signs])


@pytest.mark.parametrize("seed", range(6))
def test_p_is_exact(seed):
    differences = np.random.default_rng(seed).normal(0.003, 0.01, 9)
    assert np.ptp(np.sign(differences)) == 2
    assert _compare(differences).p[0] == pytest.approx(_enumerated(differences), rel=1e-12)


def test_shift_and_interval_are_of_the_mean_differences():
    differences = np.random.default_rng(0).normal(0.05, 0.02, 12)
    found = _compare(differences)
    averages = sorted((x + y) / 2 for n, x in enumerate(differences) for y in differences[: n + 1])
    rank = interval_rank(12)
    assert rank == 8  # W up to 7 has p <= 0.01
    assert found.shift[0] == pytest.approx(np.median(averages), rel=1e-12)
    assert (found.low[0], found.high[0]) == (averages[rank - 1], averages[-rank])


def test_differences_of_one_sign_are_judged_by_their_size():
    wide, narrow = np.geomspace(1e-4, 0.07, 10), np.linspace(0.045, 0.055, 10)
    assert _compare(wide).p[0] == pytest.approx(2 / 2**10)
    t = 0.05 / (narrow.std(ddof=1) / math.sqrt(10))
    assert student_p(np.array([t]), 9)[0] < 1e-10
    assert _compare(narrow).p[0] == least_p(np.array([10]), np.array([10]))[0] < 2e-5


# scipy.stats.t.sf gives the same.
@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [
        (1.0, 1, 0.5),
        (4.302652729696142, 2, 0.05),
        (3.182446305284263, 3, 0.05),
        (2.2621571627409915, 9, 0.05),
        (4.781, 9, 0.0010000),
        (2.756, 29, 0.0100),
    ],
)
def test_student_s_p(t, freedom, p):
    assert student_p(np.array([t]), freedom)[0] == pytest.approx(p, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 10, 20, 40])
def test_builds_that_are_alike_are_told_apart_no_more_often_than_p_says(n):
    generator = np.random.default_rng(n)
    base, head = generator.standard_t(4, (2, 20_000, n)) * 0.02
    found = compare_pairs(base, head)
    for level in (0.05, 0.01, 0.002):
        bound = level + 4 * math.sqrt(level / 20_000)
        assert np.mean(found.p <= level) <= bound
    outside = np.mean((found.low > 0) | (found.high < 0))
    assert outside <= 0.01 + 4 * math.sqrt(0.01 / 20_000)


def test_state_of_the_device_and_order_of_the_pairs_do_not_matter():
    generator = np.random.default_rng(1)
    base, head = generator.normal(0, 0.001, (2, 5, 12))
    state = generator.normal(0, 0.05, (5, 12))
    still, moved = compare_pairs(base, head), compare_pairs(base + state, head + state)
    order = generator.permutation(12)
    shuffled = compare_pairs(base[:, order], head[:, order])
    np.testing.assert_allclose(still.shift, moved.shift, atol=1e-12)
    np.testing.assert_array_equal(still.shift, shuffled.shift)
    np.testing.assert_array_equal(still.p, shuffled.p)


def test_modes_are_compared_with_modes():
    generator = np.random.default_rng(2)
    base, head = generator.normal(0, 0.003, (2, 1, 20))
    base += 0.4 * (generator.random(20) < 0.5)
    head += 0.4 * (generator.random(20) < 0.5) + 0.05
    found = compare_pairs(base, head)
    assert found.shift[0] == pytest.approx(0.05, abs=0.004)
    assert found.low[0] > 0.04
    assert 0 < found.mode_p[0] <= 1
    assert np.isnan(compare_pairs(base[:, :8] * 0, head[:, :8] * 0).mode_p[0])


def test_long_and_short_rows_are_compared_alike_and_empty_ones_not_at_all():
    generator = np.random.default_rng(3)
    base, head = generator.normal(0, 0.02, (2, 4, 50))
    for row, n in enumerate((50, 8, 1, 0)):
        base[row, n:] = head[row, n:] = np.nan
    found = compare_pairs(base, head)
    for row, n in enumerate((50, 8, 1)):
        alone = compare_pairs(base[row : row + 1, :n], head[row : row + 1, :n])
        np.testing.assert_array_equal(np.array(found)[:, row], np.array(alone)[:, 0])
    assert np.isnan(np.array(found)[:, 3]).all()
    assert found.p[2] == 1


def test_equal_pairs_have_p_of_1_and_no_shift():
    found = _compare([0.0] * 10)
    assert (found.p[0], found.excess[0], found.shift[0]) == (1, 0, 0)


def test_the_least_number_of_pairs_gives_an_interval():
    assert interval_rank(LEAST_PAIRS) == 1
    assert interval_rank(LEAST_PAIRS - 1) == 0
