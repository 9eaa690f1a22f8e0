import math

import numpy as np
import pytest

from tests.support.plain_comparison import p_value
from warehouse.statistics.change_points import find_change_points

NAN = math.nan


def _found(series):
    """What is found in one series: a list of dumps for each build, the last build last."""
    values = [y for dumps in series for y in dumps]
    back = [len(series) - n for n, dumps in enumerate(series) for _ in dumps]
    found = find_change_points(np.array([[*values, NAN]]), np.array([[*back, NAN]], float))
    return {name: column[0] for name, column in found._asdict().items()}


def _sides(series, split):
    before, after = series[:-split][-10:], series[-split:]
    return [[y for dumps in side for y in dumps] for side in (before, after)]


@pytest.mark.parametrize("seed", range(6))
def test_the_clearest_split_is_that_by_the_book(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 12, generator.integers(3, 15)).tolist()
    first = int(generator.integers(1, len(sizes)))
    series = [
        np.round(generator.normal(0.1 * (n >= first), 0.05, size), 2).tolist()
        for n, size in enumerate(sizes)
    ]
    found = _found(series)
    splits = range(2, min(8, len(series) - 1) + 1)
    before, after = _sides(series, found["split"])
    assert found["p"] == pytest.approx(p_value(before, after), rel=1e-9)
    apart = [[range(len(side)) for side in _sides(series, split)] for split in splits]
    least = min(p_value([*n], [1000 + k for k in m]) for n, m in apart)
    assert found["least_p"] == pytest.approx(least, rel=1e-9)
    if found["p"] <= 1e-4:
        expected = np.median([a - b for a in after for b in before])
        assert found["shift"] == pytest.approx(expected)
    else:
        assert math.isnan(found["shift"])


def test_a_step_is_found_at_its_build():
    old, new = [0.001 * k for k in range(8)], [0.1 + 0.001 * k for k in range(8)]
    found = _found([old, old, old, old, new, new, new])
    assert found["split"] == 3
    assert found["shift"] == pytest.approx(0.1)


def test_two_builds_have_no_change_point():
    found = _found([[0.0] * 8, [1.0] * 8])
    assert found["split"] == 0
    assert math.isnan(found["p"])
    assert math.isnan(found["least_p"])


def test_builds_more_than_ten_before_the_earliest_split_do_not_count():
    recent = [[0.01 * (k % 3), 0.02 * (k % 5), 0.03] for k in range(18)]
    assert _found([[5.0] * 3, [6.0] * 3, *recent])["p"] == _found(recent)["p"]


def test_builds_before_the_last_18_change_nothing():
    values = np.random.default_rng(5).normal(size=(20, 40))
    values[:, 35:] += 1
    back = np.tile(np.arange(40, 0, -1.0), (20, 1))
    found, of_last = (
        find_change_points(values, back),
        find_change_points(values[:, 22:], back[:, 22:]),
    )
    for name, figures in found._asdict().items():
        np.testing.assert_array_equal(figures, getattr(of_last, name), err_msg=name)
