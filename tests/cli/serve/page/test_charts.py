"""The plots of the site."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tests.support.reports import read_xml
from tracehouse.cli.serve.page.charts import coverage_plot, spark_plot
from tracehouse.queries.report.line_chart import Mark


def _files(text: str) -> dict[str, str]:
    """The addresses of a chart's files, by name."""
    found = re.findall(r'<a href="([^"]+)" download="([^"]+)">', text)
    return {name: unescape(href) for href, name in found}


def _grid(text: str) -> list[str]:
    return re.findall(r'class="grid"[^>]*/><text[^>]*>([^<]+)</text>', text)


def test_nothing_is_drawn_of_nothing() -> None:
    assert spark_plot(["b1"], "x", [None]) == ""


def test_a_sparkline_tells_its_ends_and_its_alerts() -> None:
    marks = [Mark("b2", "+10 %"), Mark("b9", "elsewhere")]
    plot = read_xml(spark_plot(["b1", "b2"], "conv", [1e6, 1.1e6], marks=marks))
    assert plot.get("role") == "img"
    assert plot.get("aria-label") == "conv from 1.000 ms to 1.100 ms; +10 % in b2"
    (mark,) = [one for one in plot.iter("line") if one.get("class") == "mark bad"]
    assert float(mark.get("x1")) == 156


def test_the_axis_is_in_the_address(site: TestClient) -> None:
    plain = site.get("/history?device=phone").text
    zero, log = (site.get(f"/history?device=phone&{one}").text for one in ("zero=1", "scale=log"))
    assert 'href="/history?device=phone&amp;scale=log">Log axis<' in plain
    assert 'href="/history?device=phone&amp;zero=1">Axis from zero<' in plain
    assert 'href="/history?device=phone">Fit the axis<' in zero
    assert 'href="/history?device=phone">Linear axis<' in log
    assert 'data-scale="log"' in log
    assert [_grid(text)[0].split()[0] == "0" for text in (plain, zero, log)] == [False, True, False]


@pytest.mark.parametrize("axis", ["scale=cubic", "zero=2"])
def test_another_axis_is_refused(site: TestClient, axis: str) -> None:
    answer = site.get(f"/history?{axis}")
    assert answer.status_code == 400
    assert f"{axis}, wanted" in answer.text


@pytest.mark.parametrize("path", ["/history", "/history?event=native_call_relu.out"])
def test_a_chart_is_there_as_rows_and_as_a_drawing(site: TestClient, path: str) -> None:
    text = site.get(path, params={"device": "phone"}).text
    csv, arrow, drawing = _files(text).values()
    values = re.findall(r'data-value="([^"]+)"', text)
    with pa.ipc.open_stream(site.get(arrow).content) as reader:
        rows = reader.read_all()
    assert [repr(value) for value in rows["p50_ns"].to_pylist()] == values
    assert len(site.get(csv).text.splitlines()) == len(values) + 1
    answer = site.get(drawing)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert ET.fromstring(answer.text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - ours
    assert "phone · net" in answer.text


def test_a_chart_without_values_is_no_file(site: TestClient) -> None:
    answer = site.get("/history.svg?event=elsewhere")
    assert answer.status_code == 404
    assert "no value to draw" in answer.text


def test_points_lead_to_the_operators_of_their_builds(site: TestClient) -> None:
    text = site.get("/history?device=phone").text
    links = re.findall(r'<a href="([^"]+)" class="c0"', text)
    assert len(links) == 12
    assert "b3" in site.get(unescape(links[3])).text


def test_squares_are_full_where_all_was_recorded() -> None:
    text = coverage_plot(["b1", "b2", "b3"], {"b1": 2, "b3": 1}, 2)
    assert re.findall(r"cover-\w+", text) == ["cover-all", "cover-none", "cover-some"]


def test_names_are_text_in_every_plot() -> None:
    evil = "</title></svg><script>\"'"
    texts = [
        spark_plot([evil], evil, [1.0], marks=[Mark(evil, evil)]),
        coverage_plot([evil], {}, 1),
    ]
    assert not any("<script" in text for text in texts)
