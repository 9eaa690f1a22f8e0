from __future__ import annotations

import math

import pytest

from tracehouse.queries.drawing.axis import AxisKind, log_ticks, make_axis, round_ticks


def test_values_stand_between_the_edges_of_the_axis() -> None:
    axis = make_axis([2.0, 3.0], AxisKind(), start=100, end=0)
    assert 0 < axis(3.0) < axis(2.5) < axis(2.0) < 100
    assert axis(None) is None


def test_a_small_change_does_not_fill_the_axis() -> None:
    axis = make_axis([1000.0, 1001.0], AxisKind(), start=100, end=0)
    assert axis(1000.0) - axis(1001.0) < 5


def test_a_tight_axis_is_filled_by_any_difference() -> None:
    axis = make_axis([1000.0, 1001.0], AxisKind(is_tight=True), start=100, end=0)
    assert axis(1000.0) - axis(1001.0) > 80
    assert len(make_axis([5.0, 5.0], AxisKind(is_tight=True), start=100, end=0).ticks) > 1


def test_an_axis_from_zero_has_a_tick_at_zero() -> None:
    axis = make_axis([2e6, 3e6], AxisKind(has_zero=True), start=100, end=0)
    assert axis.ticks[0] == (0.0, "0 ms")
    assert axis(0.0) == 100


def test_a_logarithmic_axis_has_equal_room_for_equal_ratios() -> None:
    axis = make_axis([1.0, 10.0, 100.0], AxisKind(is_log=True), start=100, end=0)
    assert axis(1.0) - axis(10.0) == pytest.approx(axis(10.0) - axis(100.0), abs=0.2)


def test_zero_has_no_place_on_a_logarithmic_axis() -> None:
    assert make_axis([0.0], AxisKind(is_log=True), start=100, end=0) is None
    assert make_axis([0.0, 1.0], AxisKind(is_log=True), start=100, end=0)(0.0) is None


@pytest.mark.parametrize("low", [0.0, -5.0, 1e-9, 123.456, 1e18, 1e300, -1e308])
@pytest.mark.parametrize("span", [0.0, 1e-12, 0.04, 7.0, 1e6, 1e308])
def test_ticks_are_few_finite_and_within_the_axis(low: float, span: float) -> None:
    high = low + span
    found = round_ticks(low, high)
    assert len(found) <= 12
    assert all(math.isfinite(tick) for tick in found)
    axis = make_axis([low, high], AxisKind(), start=100, end=0)
    assert all(-1 <= axis(tick) <= 101 for tick, _ in axis.ticks)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 1.001), (3, 7000), (1e-9, 1e18)])
def test_logarithmic_ticks_are_few_and_within_the_axis(low: float, high: float) -> None:
    found = log_ticks(low, high)
    assert 1 <= len(found) <= 12
    assert all(low <= tick <= high for tick in found)
