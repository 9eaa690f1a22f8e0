"""Small pictures in a line of text."""

from __future__ import annotations

from tracehouse.queries.plots.terminal import bar, histogram, sparkline


def test_values_are_columns_from_the_lowest_to_the_highest() -> None:
    assert sparkline([1.0, 2.0, 3.0, 8.0]) == "▁▂▃█"


def test_a_sparkline_shows_a_missing_value_as_a_dot() -> None:
    assert sparkline([1.0, None, 8.0, float("nan")]) == "▁·█·"
    assert sparkline([None]) == "·"


def test_noise_looks_flat() -> None:
    assert sparkline([100.0, 100.2, 99.9]) == "▁▁▁"
    assert sparkline([0.0, 0.0]) == "▁▁"


def test_bars_are_as_long_as_their_shares() -> None:
    assert [bar(share, 4) for share in (0.0, 0.001, 0.25, 0.5, 1.0, 2.0)] == [
        "", "▏", "█", "██", "████", "████",
    ]  # fmt: skip
    assert bar(None) == bar(float("nan")) == ""


def test_a_histogram_is_high_where_values_are_dense() -> None:
    drawn = histogram([0, 0.5, 1], [100.0, 200.0, 1600.0], 4)
    assert drawn[0] == "█"
    assert len(drawn) == 4
    assert histogram([0, 0.5, 1], [100.0, 1590.0, 1600.0], 4)[-1] == "█"


def test_a_histogram_of_equal_values_is_one_column() -> None:
    assert histogram([0, 1], [5.0, 5.0]) == "█"


def test_a_histogram_accepts_a_minimum_of_0() -> None:
    assert len(histogram([0, 0.5, 1], [0.0, 5.0, 10.0], 8)) == 8


def test_a_histogram_without_percentiles_is_empty() -> None:
    assert histogram([0, 1], [None, 5.0]) == ""
