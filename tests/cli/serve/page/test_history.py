"""Latencies and operators over builds."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links, shown, table_rows


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
    rows = _rows(text)[3:]  # after both headings and the row of the phone
    assert [row.split()[0] for row in rows] == [f"b{number}" for number in range(11, -1, -1)]
    (night,) = (row for row in rows if row.split()[0] == "b9")
    assert 13 < float(re.findall(r"([+−][\d.]+) %", night)[0]) < 17


def test_filters_of_an_operator_keep_which_it_is(site: TestClient) -> None:
    chosen = {"event": "native_call_relu.out", "device": "phone"}
    text = site.get("/operator", params=chosen).text
    assert '<input type="hidden" name="event" value="native_call_relu.out">' in text
    assert '<a href="/operator?event=native_call_relu.out">Clear</a>' in text


_MULTIPLE = re.compile(r'<li class="plot"><a href="(.*?)">(.*?)</a><svg(.*?)</svg>', re.DOTALL)


def test_changes_are_sorted_the_largest_first(site: TestClient) -> None:
    first, last = (
        site.get("/latency", params={"build": ["b8", "b9", "b10"], "sort": sort}).text
        for sort in ("-change", "change")
    )
    assert [row[0] for row in table_rows(first)] == [row[0] for row in table_rows(last)][::-1]
    changes = [row[1] for row in table_rows(first)]
    assert [text[0] for text in changes] in (["+", "−"], ["+", "+"], ["−", "−"])
    assert links(first)["Change"] == "/latency?build=b8&build=b9&build=b10&sort=change"


def test_many_models_are_small_plots_of_their_medians(wide_site: TestClient) -> None:
    text = wide_site.get("/latency").text
    plots = _MULTIPLE.findall(text)
    assert sorted(name for _, name, _ in plots) == ["model-1 · xnnpack", "model-2 · xnnpack"]
    assert "<polyline" in plots[0][2]
    (href,) = (href for href, name, _ in plots if name.startswith("model-1"))
    assert href == "/latency?model=model-1&amp;backend=xnnpack"
    assert len(table_rows(text)) == 24


def test_many_devices_are_small_plots_beside_the_median_of_their_pool(
    wide_site: TestClient,
) -> None:
    chosen = {"event": "native_call_op3.out", "model": "model-1"}
    text = wide_site.get("/operator", params={**chosen, "sort": "device"}).text
    plots = _MULTIPLE.findall(text)
    assert [name.split()[0] for _, name, _ in plots] == [f"device-{n}" for n in range(1, 13)]
    assert all(plot.count("<polyline") == 2 for _, _, plot in plots)
    assert "device=device-2" in plots[1][0]
    heard = re.findall(r"; pool (pool-\w) from", "".join(plot for _, _, plot in plots))
    assert set(heard) == {"pool-0", "pool-1"}


def test_the_median_is_that_of_the_whole_pool_also_where_few_devices_are_chosen(
    wide_site: TestClient,
) -> None:
    def medians(**filters: object) -> dict[str, str]:
        chosen = {"event": "native_call_op3.out", "model": "model-1", **filters}
        plots = _MULTIPLE.findall(wide_site.get("/operator", params=chosen).text)
        heard = (re.findall(r"; pool (.*?)\"", plot)[0] for _, _, plot in plots)
        return {name: text for (_, name, _), text in zip(plots, heard, strict=True)}

    few = medians(device=[f"device-{n}" for n in range(1, 10)])
    assert len(few) == 9
    assert few.items() <= medians().items()


def test_series_have_pages(wide_site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.history.ROWS", 10)
    text = wide_site.get("/latency?sort=device&page=3").text
    assert "21 to 24 of 24" in text
    assert [row[0].split()[0] for row in table_rows(text)] == ["device-11"] * 2 + ["device-12"] * 2
    assert "device-2 " not in shown(text)
