from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests.support.reports import member, read_xml
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.content import BuildPoint
from tracehouse.queries.report.plots import MAX_BUILDS, history_plot, spark_plot, strip_plot

HOSTILE = ("</title><script>x</script>", '"><svg onload=x>', "&lt;", "' x='", *NAMES, LONG_NAME)


def test_strip_plot_has_a_dot_for_each_dump() -> None:
    plot = read_xml(strip_plot(member(base_values=[1.0, 2.0, 2.0], head_values=[3.0])))
    paths = {path.get("class"): path.get("d") for path in plot.iter("path")}
    assert paths["dots base"].count("h 0") == 3
    assert paths["dots head"].count("h 0") == 1


def test_equal_values_stand_beside_each_other() -> None:
    plot = read_xml(strip_plot(member(base_values=[5.0] * 6, head_values=[])))
    (path,) = plot.iter("path")
    places = re.findall(r"M ([\d.]+) ([\d.]+)", path.get("d"))
    assert len({x for x, _ in places}) == 1
    assert len({y for _, y in places}) == 6


def test_strip_plot_tells_its_numbers_on_hover_and_to_a_screen_reader() -> None:
    plot = read_xml(strip_plot(member(base_values=[1e6, 2e6, 4e6], head_values=[])))
    said = "base 3 dumps, median 2.000 ms, 1.000 ms to 4.000 ms"
    assert said in [title.text for title in plot.iter("title")]
    assert plot.get("role") == "img"
    assert said in plot.get("aria-label")
    assert plot.get("aria-label").endswith("head has no dumps")


def test_base_and_head_are_marked_at_the_same_of_two_speeds() -> None:
    values = {"base_values": [3e6, 3e6, 7e6], "head_values": [3.2e6, 7.4e6, 7.4e6]}
    levels = {"base_ns": 3e6, "head_ns": 3.2e6, "speeds": (1, 3, 2, 3)}
    plot = read_xml(strip_plot(member(**values, **levels)))
    titles = [title.text for title in plot.iter("title")]
    assert "head fast speed 3.200 ms" in titles
    assert "base 3 dumps, 1 of them slow, fast speed 3.000 ms, 3.000 ms to 7.000 ms" in titles
    assert [text.text for text in plot.iter("text") if "slow" in text.text] == ["1 slow", "2 slow"]


def test_strip_plot_has_a_grid_of_round_values_that_do_not_touch() -> None:
    wide = read_xml(strip_plot(member(base_values=[1e6, 3e6], head_values=[])))
    assert [text.text for text in wide.iter("text")][:3] == ["1 ms", "1.5 ms", "2 ms"]
    narrow = read_xml(strip_plot(member(base_values=[1.2001e6, 1.2003e6], head_values=[])))
    grid = [one for one in narrow.iter("line") if one.get("class") == "grid"]
    ticks = [one for one in narrow.iter("text") if one.get("y") == "98"]
    places = [float(one.get("x")) for one in ticks]
    assert len(ticks) < len(grid)
    assert min(after - before for before, after in pairwise(places)) > 8 * len(ticks[0].text)


def test_a_strip_plot_without_dumps_is_empty() -> None:
    assert strip_plot(member(base_values=[], head_values=[])) == ""


def test_history_has_a_hole_where_a_build_has_no_data() -> None:
    plot = read_xml(history_plot(member(history=points(1.0, None, 2.0, 3.0)), "b2"))
    assert len(list(plot.iter("polyline"))) == 2
    shown = [text.text for text in plot.iter("text") if text.get("class") == "values"]
    assert shown[:2] == ["b0: 1 ns, 1 dump", "b1: no data, 0 dumps"]


def test_history_has_a_band_where_a_build_has_several_dumps() -> None:
    banded = [point.model_copy(update={"p10": 1.0, "p90": 3.0}) for point in points(2.0, 2.0, 2.0)]
    one = member(history=[*banded, *points(2.0)])
    (band,) = (e for e in read_xml(history_plot(one, "b1")).iter("polygon"))
    assert len(band.get("points").split()) == 6


def test_history_marks_the_first_bad_build() -> None:
    plot = history_plot(member(history=points(1.0, 2.0)), "b1")
    assert "first bad build: b1" in plot
    assert "first bad build" not in history_plot(member(history=points(1.0, 2.0)), "elsewhere")


def test_history_marks_the_build_that_fixed_it() -> None:
    plot = history_plot(member(history=points(1.0, 2.0, 1.0)), "b1", "b2")
    assert "fixed in: b2" in plot
    assert "fixed in" not in history_plot(member(history=points(1.0, 2.0, 1.0)), "b1")


def test_history_is_of_the_latest_builds() -> None:
    plot = read_xml(history_plot(member(history=points(*range(1, 100))), "b0"))
    assert len(list(plot.iter("circle"))) == MAX_BUILDS


def test_a_history_at_two_speeds_has_a_line_for_each() -> None:
    at = {"fast": 3e6, "slow": 7e6}
    history = [
        BuildPoint(build=f"b{i}", dump_count=12, median_ns=median, slow_count=slow, **at)
        for i, (median, slow) in enumerate([(3e6, 5), (7e6, 8), (3e6, 4)])
    ]
    one = member(history=history, speeds=(5, 12, 8, 12))
    plot = read_xml(history_plot(one, "b1"))
    assert len(list(plot.iter("polyline"))) == 2
    assert all(len({y.split(",")[1] for y in line.get("points").split()}) == 1
               for line in plot.iter("polyline"))  # fmt: skip
    assert [text.text for text in plot.iter("text") if "name" in text.get("class", "").split()] == [
        "slow", "fast",
    ]  # fmt: skip
    titles = [title.text for title in plot.iter("title")]
    assert "b1\nslow: 7.000 ms, 8 of 12 dumps\nfast: 3.000 ms, 4 of 12 dumps" in titles
    (line,) = read_xml(spark_plot(one, "b1")).iter("polyline")
    assert len({point.split(",")[1] for point in line.get("points").split()}) == 1


@pytest.mark.parametrize("history", [[], [BuildPoint(build="b", dump_count=0, median_ns=None)]])
def test_a_history_plot_without_values_is_empty(history: list[BuildPoint]) -> None:
    assert history_plot(member(history=history), "b") == ""


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_are_text_in_every_plot(name: str) -> None:
    history = [BuildPoint(build=name, dump_count=1, median_ns=ns) for ns in (1.0, 2.0)]
    one = member(event_name=name, delegate_id=name, device=name, history=history)
    for plot in (strip_plot(one), history_plot(one, name)):
        root = read_xml(plot)
        tags = {element.tag for element in root.iter()}
        assert tags <= {
            "svg", "g", "line", "path", "rect", "circle", "polyline", "text", "title",
        }  # fmt: skip
        assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)
        assert len(plot) < 12_000


def points(*medians: float | None) -> list[BuildPoint]:
    return [
        BuildPoint(build=f"b{i}", dump_count=median is not None, median_ns=median)
        for i, median in enumerate(medians)
    ]
