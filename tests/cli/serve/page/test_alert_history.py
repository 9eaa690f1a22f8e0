"""The history of an alert, also of a measure that no operator has."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from tests.support.pages import table_rows


@pytest.fixture
def addresses(site: TestClient) -> list[str]:
    """The histories that the alerts of the report lead to."""
    page = site.get("/regressions?head=b11").text
    return [unescape(one) for one in re.findall(r'href="(/history\?[^"]+)"', page)]


def test_a_measure_has_its_values_build_by_build(site: TestClient, addresses: list[str]) -> None:
    pages = [site.get(address).text for address in addresses]
    (page,) = (page for page in pages if "operator_count" in page)
    assert 'data-unit="count"' in page
    assert re.search(r'<line [^>]*class="mark bad"', page)
    assert table_rows(page)[0][:3] == ["b11", "+25.0 %", "5"]
    assert table_rows(page)[1][:3] == ["b10", "+0.00 %", "4"]
    assert 'href="/dumps?device=phone&amp;model=net&amp;build=b11"' in page


def test_series_of_operators_have_bands(site: TestClient, addresses: list[str]) -> None:
    page = site.get(addresses[0]).text
    assert page.count('class="band"') == page.count('<ul class="legend">') * 2
    drawn = site.get(addresses[0].replace("/history?", "/history.svg?"))
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    log = site.get(f"{addresses[0]}&scale=log").text
    assert 'data-scale="log" ' in log
    assert 'href="/history?group=' in log
