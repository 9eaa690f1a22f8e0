"""Latencies and operators over builds."""

from __future__ import annotations

import re

from starlette.testclient import TestClient


def _rows(text: str) -> list[str]:
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]


def test_each_model_on_each_device_has_its_last_median(site: TestClient) -> None:
    rows = _rows(site.get("/latency").text)[1:]
    assert [row.split()[0] for row in rows] == ["phone", "tablet"]
    assert "b11" in rows[0]
    assert "b10" in rows[1]


def test_lines_are_drawn_over_all_builds_in_their_order(site: TestClient) -> None:
    text = site.get("/latency", params={"device": "phone"}).text
    points = re.findall(r'<g class="at" data-name="(b\d+)">', text)
    assert points == [f"b{number}" for number in range(12)]
    assert "Method::execute over 12 builds" in text


def test_an_operator_has_a_row_for_each_build_newest_first(site: TestClient) -> None:
    event = "native_call_convolution.out"
    text = site.get("/operator", params={"event": event, "device": "phone"}).text
    rows = _rows(text)[1:]
    assert [row.split()[0] for row in rows] == [f"b{number}" for number in range(11, -1, -1)]
    (night,) = (row for row in rows if row.split()[0] == "b9")
    assert 13 < float(re.findall(r"([+−][\d.]+) %", night)[0]) < 17


def test_filters_of_an_operator_keep_which_it_is(site: TestClient) -> None:
    chosen = {"event": "native_call_relu.out", "device": "phone"}
    text = site.get("/operator", params=chosen).text
    assert '<input type="hidden" name="event" value="native_call_relu.out">' in text
    assert '<a href="/operator?event=native_call_relu.out">Clear</a>' in text
