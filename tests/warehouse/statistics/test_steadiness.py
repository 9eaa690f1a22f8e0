from statistics import fmean, median, quantiles, stdev

import numpy as np
import pytest

from tracehouse.warehouse.statistics.steadiness import find_steadiness


def test_steadiness_matches_the_textbook_formulas():
    values = [105.0, 98.0, 101.0, 250.0, 99.0, 100.0, 104.0, 97.0, 96.0, 103.0, 102.0]
    found = find_steadiness(np.array([values]))
    low, middle, high = quantiles(values, n=4, method="inclusive")
    assert found.typical.tolist() == [median(values)]
    assert found.cv.tolist() == pytest.approx([stdev(values) / fmean(values)])
    assert found.iqr_share.tolist() == pytest.approx([(high - low) / middle])
    p99 = quantiles(values, n=100, method="inclusive")[-1]
    assert found.p99_over_p50.tolist() == pytest.approx([p99 / middle])
    assert found.max_over_min.tolist() == pytest.approx([250 / 96])
    assert found.drift.tolist() == pytest.approx([median(values[-4:]) / median(values[:3]) - 1])


def test_steadiness_without_enough_samples_or_at_zero_is_nan():
    one, two = find_steadiness(np.array([[5.0]])), find_steadiness(np.array([[5.0, 6.0]]))
    assert one.typical.tolist() == [5.0]
    assert np.isnan([*one.cv, *one.drift, *two.drift]).all()
    zeros = find_steadiness(np.zeros((1, 6)))
    assert zeros.typical.tolist() == [0.0]
    assert np.isnan([figure.item() for figure in zeros[1:]]).all()


def test_a_small_spread_of_long_times_is_exact():
    values = 1e15 + np.arange(6.0)
    (cv,) = find_steadiness(values[None]).cv.tolist()
    assert cv == pytest.approx(np.sqrt(3.5) / 1e15, rel=1e-9)
