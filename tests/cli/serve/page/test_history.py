"""An event over builds: whole runs, or one operator."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links, shown, table_rows


def _rows(text: str) -> list[str]:
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]


def test_each_model_on_each_device_has_its_last_median(site: TestClient) -> None:
    rows = _rows(site.get("/history").text)[1:]
    assert [row.split()[0] for row in rows] == ["phone", "tablet"]
    assert "b11" in rows[0]
    assert "b10" in rows[1]


def test_lines_are_drawn_over_all_builds_in_their_order(site: TestClient) -> None:
    text = site.get("/history", params={"device": "phone"}).text
    points = re.findall(r'<g class="at" data-name="(b\d+)">', text)
    assert points == [f"b{number}" for number in range(12)]
    assert "Method::execute over 12 builds" in text


def test_an_operator_has_a_row_for_each_build_newest_first(site: TestClient) -> None:
    event = "native_call_convolution.out"
    text = site.get("/history", params={"event": event, "device": "phone"}).text
    rows = _rows(text)[3:]  # after both headings and the row of the phone
    assert [row.split()[0] for row in rows] == [f"b{number}" for number in range(11, -1, -1)]
    (night,) = (row for row in rows if row.split()[0] == "b9")
    assert 13 < float(re.findall(r"([+−][\d.]+) %", night)[0]) < 17


def test_filters_of_an_operator_keep_which_it_is(site: TestClient) -> None:
    chosen = {"event": "native_call_relu.out", "device": "phone"}
    text = site.get("/history", params=chosen).text
    assert '<input type="hidden" name="event" value="native_call_relu.out">' in text
    assert '<a href="/history?event=native_call_relu.out">Clear</a>' in text


def test_changes_are_sorted_the_largest_first(site: TestClient) -> None:
    first, last = (
        site.get("/history", params={"build": ["b8", "b9", "b10"], "sort": sort}).text
        for sort in ("-change", "change")
    )
    assert [row[0] for row in table_rows(first)] == [row[0] for row in table_rows(last)][::-1]
    changes = [row[1] for row in table_rows(first)]
    assert [text[0] for text in changes] in (["+", "−"], ["+", "+"], ["−", "−"])
    assert links(first)["Change"] == "/history?build=b8&build=b9&build=b10&sort=change"


def test_many_series_have_a_sparkline_each_and_no_chart(wide_site: TestClient) -> None:
    text = wide_site.get("/history").text
    assert 'class="trend"' not in text
    assert text.count('class="spark"') == len(table_rows(text)) == 24


def test_tables_of_several_series_are_folded(site: TestClient) -> None:
    event = {"event": "native_call_convolution.out"}
    assert site.get("/history", params=event).text.count('<details class="listing') == 2
    one = site.get("/history", params={**event, "device": "phone"}).text
    assert '<details class="listing' not in one


def test_series_have_pages(wide_site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.history.ROWS", 10)
    text = wide_site.get("/history?sort=device&page=3").text
    assert "21 to 24 of 24" in text
    assert [row[0].split()[0] for row in table_rows(text)] == ["device-11"] * 2 + ["device-12"] * 2
    assert "device-2 " not in shown(text)
