"""Small plots side by side."""

from __future__ import annotations

from tests.support.reports import read_xml
from tracehouse.cli.serve.page.multiples import make_multiple, small_plot
from tracehouse.queries.report.line_chart import Line, Mark

_BUILDS = ["b1", "b2", "b3"]


def test_a_series_stands_before_the_median_of_its_pool() -> None:
    plot = read_xml(small_plot(_BUILDS, Line("d", [1e6, None, 2e6]), Line("pool", [1e6, 1e6, 1e6])))
    assert [group.get("class") for group in plot.iter("g")] == ["pool", "own"]
    assert plot.get("aria-label") == ("d from 1.000 ms to 2.000 ms; pool from 1.000 ms to 1.000 ms")
    assert [point[0].text for point in plot.iter("circle")] == ["b1: 1.000 ms", "b3: 2.000 ms"]


def test_alerts_are_marked_and_told() -> None:
    marks = [Mark("b2", "+10 %"), Mark("b9", "elsewhere")]
    plot = read_xml(small_plot(_BUILDS, Line("d", [1e6, 2e6, 2e6]), marks=marks))
    (mark,) = [one for one in plot.iter("line") if one.get("class") == "mark bad"]
    assert mark.get("x1") == "120.0"
    assert plot.get("aria-label") == "d from 1.000 ms to 2.000 ms; +10 % in b2"


def test_small_changes_do_not_fill_the_height() -> None:
    plot = read_xml(small_plot(_BUILDS, Line("d", [100.0, 101.0, 100.0])))
    heights = [float(point.get("cy")) for point in plot.iter("circle")]
    assert max(heights) - min(heights) < 0.25 * 72


def test_nothing_is_drawn_of_nothing() -> None:
    assert small_plot(_BUILDS, Line("d", [None, None, None])) == ""


def test_a_multiple_has_the_last_value_in_words() -> None:
    line = Line("d", [1e6, 2e6, None])
    one = make_multiple(_BUILDS, line, href="/x", change=1.0, median=None)
    assert (one.name, one.href, one.value, one.change) == ("d", "/x", "2.000 ms", "+100 %")


def test_names_are_text() -> None:
    evil = "</title></svg><script>\"'"
    assert "<script" not in small_plot([evil], Line(evil, [1.0]), Line(evil, [2.0]))
