"""The plots of the site."""

from __future__ import annotations

import re

from cli.serve.page.charts import (
    Slice,
    Trend,
    coverage_plot,
    spark_plot,
    timeline_plot,
    trend_plot,
)


def _bars(text: str) -> dict[str, tuple[float, float]]:
    """Where each slice starts, and its row."""
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)".*?<title>(.*?):', text)
    return {name: (float(x), float(y) / 18) for x, y, name in found}


def test_slices_stand_under_those_that_hold_them() -> None:
    slices = [
        Slice("a", "kernel", 10, 30), Slice("whole", "method", 0, 100),
        Slice("inside a", "delegate_op", 10, 5), Slice("b", "kernel", 40, 60),
    ]  # fmt: skip
    assert _bars(timeline_plot(slices)) == {
        "whole": (0, 0), "a": (100, 1), "inside a": (100, 2), "b": (400, 1),
    }  # fmt: skip


def test_slices_that_overlap_are_not_one_in_the_other() -> None:
    bars = _bars(timeline_plot([Slice("a", "kernel", 0, 10), Slice("b", "kernel", 5, 10)]))
    assert bars["a"][1] == bars["b"][1] == 0


def test_lines_break_where_a_build_has_no_value() -> None:
    text = trend_plot(["b1", "b2", "b3"], [Trend("x", [1.0, None, 2.0])], "Load")
    assert text.count("<polyline") == 2
    assert text.count("<circle") == 2
    assert "Load over 3 builds: x from 1 ns to 2 ns" in text


def test_nothing_is_drawn_of_nothing() -> None:
    assert trend_plot(["b1"], [Trend("x", [None])], "Load") == ""
    assert trend_plot([], [], "Load") == ""
    assert spark_plot(["b1"], Trend("x", [None])) == ""
    assert timeline_plot([]) == ""


def test_squares_are_full_where_all_was_recorded() -> None:
    text = coverage_plot(["b1", "b2", "b3"], {"b1": 2, "b3": 1}, 2)
    assert re.findall(r"cover-\w+", text) == ["cover-all", "cover-none", "cover-some"]


def test_names_are_text_in_every_plot() -> None:
    evil = "</title></svg><script>\"'"
    texts = [
        trend_plot([evil], [Trend(evil, [1.0])], evil),
        spark_plot([evil], Trend(evil, [1.0])),
        coverage_plot([evil], {}, 1),
        timeline_plot([Slice(evil, "kernel", 0, 1)]),
    ]
    assert not any("<script" in text for text in texts)
