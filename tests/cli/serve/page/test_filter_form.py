"""The form of filters."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links

_FACETS = re.compile(r'<details class="more-filters".*?</details>', re.DOTALL)


def _facets(text: str) -> dict[str, str]:
    """The dumps of each name that narrows a view."""
    (facets,) = _FACETS.findall(text)
    return dict(re.findall(r"<dd><a [^>]*>(.*?)</a> ([\d,]+)</dd>", facets))


def test_names_are_suggested_and_counted(site: TestClient) -> None:
    text = site.get("/explore/build_history").text
    (builds,) = re.findall(r'<datalist id="known-build">(.*?)</datalist>', text)
    assert re.findall(r'value="(.*?)"', builds)[:3] == ["b0", "b1", "b2"]
    assert '<input name="build" type="text" value="" placeholder="all" list="known-build"' in text
    assert _facets(text)["tablet"] == "88"
    assert _facets(text)["phone"] == "96"


def test_filter_counts_show_how_many_rows_each_name_would_select(site: TestClient) -> None:
    counts = _facets(site.get("/explore/build_history?device=tablet&build=b11&build=b10").text)
    assert counts["phone"] == "16"
    assert counts["b10"] == counts["b9"] == "8"
    assert "b11" not in counts


def test_a_name_is_chosen_and_given_up_with_a_link(site: TestClient) -> None:
    free = site.get("/dumps?model=net&page=2").text
    assert links(free)["tablet"] == "/dumps?model=net&device=tablet"
    chosen = site.get("/dumps?device=tablet").text
    assert '<a href="/dumps" aria-current="true">tablet</a>' in chosen


@pytest.mark.parametrize("path", ["/", "/explore/build_history", "/compare", "/dumps"])
def test_a_typo_keeps_the_form_and_links_what_is_meant(site: TestClient, path: str) -> None:
    answer = site.get(path, params={"device": "tablett", "build": ["b10", "b111"]})
    assert answer.status_code == 400
    assert 'name="device" type="text" value="tablett"' in answer.text
    assert 'name="build" type="text" value="b111"' in answer.text
    assert "device: &#39;tablett&#39; is not in the store." in answer.text
    assert links(answer.text)["tablet"] == f"{path}?device=tablet&build=b10&build=b111"
    assert f'href="{path}?device=tablett&amp;build=b10&amp;build=b11">b11</a>' in answer.text
    assert '<details class="more-filters" open>' in answer.text
    assert "<span>Narrow this view</span>" in answer.text


@pytest.mark.parametrize("path", ["/compare", "/regressions"])
def test_a_typo_in_a_build_of_the_view_is_linked_too(site: TestClient, path: str) -> None:
    answer = site.get(path, params={"head": "b111"})
    assert answer.status_code == 400
    assert "ead: &#39;b111&#39; is not in the store" in answer.text
    assert 'name="head" type="text" value="b111"' in answer.text
    assert links(answer.text)["b11"].startswith(f"{path}?head=b11")


def test_parameters_of_the_view_stay_in_the_form(site: TestClient) -> None:
    for device in ("phone", "phon"):
        address = {"device": device, "sort": "dump_count", "page": "1"}
        text = site.get("/", params=address).text
        assert '<input type="hidden" name="sort" value="dump_count">' in text
        assert 'name="page"' not in text
    assert links(text)["Clear"] == "/?sort=dump_count"


def test_dates_choose_dumps(site: TestClient) -> None:
    rows = site.get("/?since=2100-01-01").text
    assert 'name="since" type="date" value="2100-01-01"' in rows
    assert "No dumps pass these filters" in rows
    assert "No dumps pass" not in site.get("/?until=2100-01-01").text


def test_a_malformed_date_is_reported_below_the_form(site: TestClient) -> None:
    answer = site.get("/?since=yesterday")
    assert answer.status_code == 400
    assert "since: " in answer.text
    assert 'name="since" type="text" value="yesterday"' in answer.text


def test_filters_that_are_set_are_chips_and_can_be_taken_away(site: TestClient) -> None:
    text = site.get("/dumps?device=tablet&device=phone&model=net").text
    chips = re.findall(r"<b>(.*?)</b></span><a href=\"(.*?)\" aria-label=\"Remove (.*?)\"", text)
    assert [(value, unescape(href), label) for value, href, label in chips] == [
        ("tablet", "/dumps?device=phone&model=net", "device tablet"),
        ("phone", "/dumps?device=tablet&model=net", "device phone"),
        ("net", "/dumps?device=tablet&device=phone", "model net"),
    ]
