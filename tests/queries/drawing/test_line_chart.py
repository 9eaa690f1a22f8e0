from __future__ import annotations

import pytest

from tests.support.reports import read_xml
from tracehouse.queries.drawing.axis import AxisKind
from tracehouse.queries.drawing.line_chart import Line, LineChart, Mark, draw_lines
from tracehouse.queries.report.figures import duration_text

BUILDS = ["b1", "b2", "b3"]


def _chart(*lines: Line, **changes: object):
    chart = LineChart("Load", "build", BUILDS, lines, text=duration_text)._replace(**changes)
    return read_xml(draw_lines(chart, width=720, height=240, class_="trend"))


def _classes(plot, name: str) -> list:
    return [one for one in plot.iter() if name in (one.get("class") or "").split()]


def test_a_grid_line_has_a_round_value_and_its_unit() -> None:
    plot = _chart(Line("x", [1.1e6, 1.2e6, 1.9e6]))
    texts = [text.text for text in plot.iter("text")]
    ticks = [text for text in texts if text.endswith(" ms") and ":" not in text]
    assert ticks == ["1.2 ms", "1.4 ms", "1.6 ms", "1.8 ms"]
    assert len(_classes(plot, "grid")) == len(ticks)


def test_a_column_tells_the_values_of_all_lines_and_their_bands() -> None:
    x = Line("x", [1.0, 2.0, 3.0], [0.5, 1.0, 2.0], [4.0, 5.0, 6.0])
    plot = _chart(x, Line("y", [7.0, None, 9.0]))
    columns = _classes(plot, "at")
    assert [column.find("title").text for column in columns][:2] == [
        "b1\nx: 1 ns (0.5 ns to 4 ns)\ny: 7 ns", "b2\nx: 2 ns (1 ns to 5 ns)\ny: no data",
    ]  # fmt: skip


def test_columns_take_all_the_width_between_the_first_and_the_last_place() -> None:
    plot = _chart(Line("x", [1.0, 2.0, 3.0]))
    areas = [column.find("rect") for column in _classes(plot, "at")]
    ends = [(float(a.get("x")), float(a.get("x")) + float(a.get("width"))) for a in areas]
    assert [after[0] for after in ends[1:]] == pytest.approx([before[1] for before in ends[:-1]])


def test_a_band_ends_where_an_edge_is_missing() -> None:
    plot = _chart(Line("x", [1.0, 2.0, 3.0], [1.0, None, 2.0], [2.0, 3.0, 4.0]))
    assert len(_classes(plot, "band")) == 2


def test_points_are_links_with_room_for_a_thumb_and_with_their_numbers() -> None:
    plot = _chart(
        Line("x", [1.5, 2.0, None], [1.0] * 3, [3.0] * 3, ["/a?b=1&c=2", "/b", "/c"]), is_live=True
    )
    links = list(plot.iter("a"))
    assert [link.get("href") for link in links] == ["/a?b=1&c=2", "/b"]
    assert (links[0].get("data-value"), links[0].get("data-low")) == ("1.5", "1.0")
    (area,) = [circle for circle in links[0] if circle.get("class") == "hit"]
    assert float(area.get("r")) >= 16
    assert [column.get("data-name") for column in _classes(plot, "at")] == BUILDS


def test_a_chart_mark_has_a_line_at_its_build_and_a_title() -> None:
    marks = [Mark("b2", "slower"), Mark("b3", "fixed", "good"), Mark("b9", "elsewhere")]
    plot = _chart(Line("x", [1.0, 2.0, 3.0]), marks=marks)
    found = [(mark.get("data-at"), mark.find("title").text) for mark in _classes(plot, "mark")]
    assert found == [("1", "slower: b2"), ("2", "fixed: b3")]


def test_zero_is_below_all_lines_of_an_axis_that_begins_there() -> None:
    plot = _chart(Line("x", [1e6, 1e6, 1e6]), axis=AxisKind(has_zero=True))
    assert "0 ms" in [text.text for text in plot.iter("text")]


def test_a_chart_without_values_is_empty() -> None:
    chart = LineChart("Load", "build", BUILDS, [Line("x", [0.0, None, None])])
    assert draw_lines(chart, width=720, height=240, class_="trend")
    only_zero = chart._replace(axis=AxisKind(is_log=True))
    assert draw_lines(only_zero, width=720, height=240, class_="trend") == ""
