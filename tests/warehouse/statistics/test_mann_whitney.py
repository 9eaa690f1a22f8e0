import math

import pytest

from tracehouse.warehouse.statistics.two_samples import exact_null_table


@pytest.fixture(scope="module")
def table():
    columns = exact_null_table().to_pydict()
    keys = zip(columns["n_small"], columns["n_large"], columns["u"], strict=True)
    return dict(zip(keys, columns["p"], strict=True))


# scipy.stats.mannwhitneyu(method="exact") gives the same.
@pytest.mark.parametrize(
    ("key", "p"),
    [
        ((3, 3, 0), 0.1),
        ((5, 5, 0), 2 / 252),
        ((5, 5, 2), 8 / 252),
        ((8, 8, 7), 0.006993006993006993),
        ((10, 10, 23), 0.04325705254497823),
        ((8, 12, 20), 0.03142017940779551),
        ((30, 30, 0), 2 / math.comb(60, 30)),
    ],
)
def test_p_matches_published_values(table, key, p):
    assert table[key] == pytest.approx(p, rel=1e-12)


def test_rows_end_at_a_p_of_a_fifth(table):
    assert max(table.values()) <= 0.2
    assert (3, 3, 2) not in table
    assert (2, 3, 0) in table


def test_p_grows_with_u_without_gaps(table):
    for (small, large, u), p in table.items():
        assert small <= large <= 30
        assert u == 0 or table[small, large, u - 1] < p


def test_least_p_is_two_over_the_number_of_orders(table):
    for (small, large, u), p in table.items():
        if u == 0:
            assert p == pytest.approx(2 / math.comb(small + large, small), rel=1e-12)
