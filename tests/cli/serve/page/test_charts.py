from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tests.support.pages import links
from tests.support.reports import read_xml
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.charts import Chart, answer_chart, spark_plot
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.drawing.bars import draw_coverage
from tracehouse.queries.drawing.line_chart import Mark

RUNS = "/explore/build_history?device=phone&event=Method%3A%3Aexecute"


def _grid(text: str) -> list[str]:
    return re.findall(r'class="grid"[^>]*/><text[^>]*>([^<]+)</text>', text)


def test_a_sparkline_without_a_value_is_empty() -> None:
    assert spark_plot(["b1"], "x", [None]) == ""


def test_a_sparkline_tells_its_ends_and_its_alerts() -> None:
    marks = [Mark("b2", "+10 %"), Mark("b9", "elsewhere")]
    plot = read_xml(spark_plot(["b1", "b2"], "conv", [1e6, 1.1e6], marks=marks))
    assert plot.get("role") == "img"
    assert plot.get("aria-label") == "conv from 1.000 ms to 1.100 ms; +10 % in b2"
    (mark,) = [one for one in plot.iter("line") if one.get("class") == "mark bad"]
    assert mark.get("x1") == "97.5%"


def test_the_axis_is_in_the_address(site: TestClient) -> None:
    plain, zero, log = (site.get(f"{RUNS}{one}").text for one in ("", "&zero=1", "&scale=log"))
    assert links(plain)["Log axis"] == f"{RUNS}&scale=log"
    assert links(plain)["Axis from zero"] == f"{RUNS}&zero=1"
    assert links(zero)["Fit the axis"] == links(log)["Linear axis"] == RUNS
    assert 'data-scale="log"' in log
    assert [_grid(text)[0].split()[0] == "0" for text in (plain, zero, log)] == [False, True, False]


@pytest.mark.parametrize("axis", ["scale=cubic", "zero=2"])
def test_another_axis_is_refused(site: TestClient, axis: str) -> None:
    answer = site.get(f"/explore/build_history?{axis}")
    assert answer.status_code == 400
    assert f"{axis}, wanted" in answer.text


@pytest.mark.parametrize("event", ["Method::execute", "native_call_relu.out"])
def test_a_chart_can_be_downloaded_as_rows_and_as_a_drawing(site: TestClient, event: str) -> None:
    text = site.get("/explore/build_history", params={"device": "phone", "event": event}).text
    values = re.findall(r'data-value="([^"]+)"', text)
    with pa.ipc.open_stream(site.get(links(text)["Arrow"]).content) as reader:
        rows = reader.read_all()
    assert [repr(value) for value in rows["p50_ns"].to_pylist()] == values
    assert len(site.get(links(text)["CSV"]).text.splitlines()) == len(values) + 1
    answer = site.get(links(text)["SVG"])
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert ET.fromstring(answer.text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - ours


def test_points_lead_to_the_operators_of_their_builds(site: TestClient) -> None:
    text = site.get("/explore/build_history?device=phone").text
    found = re.findall(r'<a href="([^"]+)" class="c0"', text)
    assert len(found) == 12
    assert "b3" in site.get(unescape(found[3])).text


def test_squares_are_full_where_all_was_recorded() -> None:
    text = draw_coverage([("b1", 2), ("b2", 0), ("b3", 1)], 2)
    assert re.findall(r"cover-\w+", text) == ["cover-all", "cover-none", "cover-some"]


def test_names_are_text_in_every_plot() -> None:
    evil = "</title></svg><script>\"'"
    texts = [
        spark_plot([evil], evil, [1.0], marks=[Mark(evil, evil)]),
        draw_coverage([(evil, 0)], 1),
    ]
    assert not any("<script" in text for text in texts)


def _drawn(y: str = "", **columns: list[object]) -> Chart:
    fields = {"sql": "SELECT 1", **({"y": y} if y else {})}
    (chart,) = answer_chart(Address(path="/sql", fields=fields), pa.table(columns))
    return chart


def test_the_last_names_are_the_axis_and_others_are_lines() -> None:
    chart = _drawn(
        model=["a", "a", "b"], build=["b1", "b2", "b2"], dumps=[3, 4, 5], p50_us=[1.0, 2.0, None]
    )
    assert chart.lines
    assert chart.lines.places == ["b1", "b2"]
    assert [(line.name, line.values) for line in chart.lines.lines] == [
        ("a", [1000.0, 2000.0]),
        ("b", [None, None]),
    ]
    assert chart.lines.axis.unit == "ns"
    assert list(chart.scales) == [("/sql?sql=SELECT+1&y=dumps", "Plot dumps")]


def test_another_column_is_chosen_in_the_address() -> None:
    chart = _drawn("n", build=["b1", "b2"], n=[3, 4], m=[float("inf"), 2.0])
    assert chart.lines
    assert [(line.name, line.values) for line in chart.lines.lines] == [("n", [3.0, 4.0])]
    assert chart.lines.axis.unit == "count"


def test_columns_of_numbers_are_drawn_over_the_first_one() -> None:
    chart = _drawn(x=[1, 2, 3], z=[4.0, float("nan"), 6.0])
    assert chart.lines
    assert chart.lines.places == ["1", "2", "3"]
    assert chart.lines.lines[0].values == [4.0, None, 6.0]


@pytest.mark.parametrize(
    "columns",
    [{"a": ["x"], "n": [1]}, {"a": ["x", "y"]}, {"a": ["x", "x"], "n": [1, 2]}, {"n": [1, 2]},
     {"a": [*map(str, range(300))], "n": [*range(300)]},
     {"b": [*map(str, range(18))], "a": ["x", "y"] * 9, "n": [*range(18)]}],
    ids=["one row", "no number", "one place", "one column", "many places", "many lines"],
)  # fmt: skip
def test_answers_unsuited_to_a_line_chart_get_no_chart(columns: dict[str, list[object]]) -> None:
    assert answer_chart(Address(), pa.table(columns)) == []


def test_columns_of_one_name_are_not_drawn() -> None:
    table = pa.table([pa.array(["x", "y"]), pa.array([1, 2]), pa.array([3, 4])], ["a", "n", "n"])
    assert answer_chart(Address(), table) == []


def test_a_column_that_has_no_numbers_is_refused() -> None:
    with pytest.raises(Problem, match="y=build, wanted a column of numbers: n"):
        _drawn("build", build=["b1", "b2"], n=[1, 2])
