"""What all views share."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.support.nightly_farm import ingest_all, record_build
from tests.support.pages import shown
from tests.support.service import service_of, serving
from tracehouse.cli.serve.access.authorization import Scope, Unauthorized
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.cli.serve.page.site import VIEWS, view

HISTORY = "/explore/build_history"
HOTSPOTS = "/explore/operator_hotspots"
ADDRESS = re.compile(r'href="(/[^"]*)"')


def _hrefs(text: str) -> set[str]:
    return {unescape(found) for found in ADDRESS.findall(text)}


@pytest.fixture(scope="module")
def pages(site: TestClient) -> dict[str, Any]:
    """The answer of every view, by its address."""
    return {path: site.get(path) for path in VIEWS}


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_is_one_page_with_its_place_in_the_navigation(
    pages: dict[str, Any], path: str
) -> None:
    answer = pages[path]
    assert answer.status_code == HTTPStatus.OK
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert f'<a href="{path}" aria-current="page">{VIEWS[path]}</a>' in answer.text
    assert "<script>" not in answer.text


@pytest.mark.parametrize("most", [1, pytest.param(3, marks=[pytest.mark.slow, pytest.mark.system])])
def test_every_link_leads_somewhere(site: TestClient, most: int) -> None:
    ahead, known = ["/"], {"/"}
    seen = Counter[str]()
    while ahead:
        path = ahead.pop(0)
        view = path.partition("?")[0][:7]  # dumps are one view
        seen[view] += 1
        if seen[view] > most:
            continue
        answer = site.get(path)
        assert answer.status_code == HTTPStatus.OK, path
        found = {one for one in _hrefs(answer.text) if not one.startswith("/v1/")} - known
        known |= found
        ahead += sorted(found)
    assert {"/explor", "/dumps/", "/regres", "/sql"} <= seen.keys()


@pytest.mark.parametrize("path", ["/", HISTORY, HOTSPOTS, "/compare", "/dumps"])
def test_hostile_names_are_text(evil_site: TestClient, path: str) -> None:
    text = evil_site.get(path).text
    assert "&lt;img src=x" in text
    assert "<img" not in text
    assert "<script>" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("path", ["/", HISTORY, HOTSPOTS, "/dumps"])
def test_filters_of_the_address_choose_and_stay_in_the_form(site: TestClient, path: str) -> None:
    both, one = site.get(path).text, site.get(path, params={"device": "tablet", "build": "b9"}).text
    form = one
    both, one = shown(both), shown(one)
    assert "phone" in both
    assert "phone" not in one
    assert 'name="device" type="text" value="tablet"' in form
    assert "/dumps?device=tablet&build=b9" in _hrefs(one)


@pytest.mark.parametrize(
    ("path", "others"),
    [("/", "until, sort"), (HISTORY, "event"), ("/sql", "sql"),
     ("/regressions", "there are head"), ("/dumps/00", "there are run")],
)  # fmt: skip
def test_an_unknown_parameter_is_refused_as_in_the_api(
    site: TestClient, path: str, others: str
) -> None:
    answer = site.get(path, params={"devise": "phone"})
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert re.search("(o such parameter &#39;devise&#39;; there are |devise: )", answer.text)
    assert others in answer.text
    assert ('<form class="filters"' in answer.text) == (path in ("/", HISTORY, "/regressions"))


def test_a_view_that_takes_too_long_is_ended_and_says_so(tmp_path: Path) -> None:
    @view
    def endless(visit: PageRequest) -> dict[str, Any]:
        visit.store.sql("SELECT count(*) FROM range(1000000000000)")
        return {}

    with serving(tmp_path / "store", query_seconds=0.2) as client:
        client.app.router.routes.append(Route("/endless", endless))  # type: ignore[attr-defined]
        answer = client.get("/endless")
    assert answer.status_code == HTTPStatus.GATEWAY_TIMEOUT
    assert "more than 0.2 s" in answer.text
    assert '<form class="filters"' in answer.text


@pytest.mark.parametrize("path", ["/", HISTORY, "/explore/operator_hotspots"])
def test_a_view_with_too_many_rows_asks_for_a_filter(
    site: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.page_request.MOST_ROWS", 1)
    answer = site.get(path)
    assert answer.status_code == HTTPStatus.OK
    assert "<h1>Choose a filter first</h1>" in answer.text
    assert (
        "more than 1 rows, too many for a page: choose a device, a model or a build" in answer.text
    )
    assert '<details class="more-filters" open>' in answer.text
    assert f'<a href="{path}?device=tablet">tablet</a> 88' in answer.text


def test_a_visitor_who_may_not_read_is_asked_for_a_token(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object, scope: Scope) -> None:
        assert scope is Scope.READ
        raise Unauthorized("no_token", "send a token")

    monkeypatch.setattr(service_of(site).access, "need", refuse)
    answer = site.get(f"{HISTORY}?device=phone", follow_redirects=False)
    assert answer.status_code == HTTPStatus.SEE_OTHER
    assert answer.headers["location"] == "/login?next=%2Fexplore%2Fbuild_history%3Fdevice%3Dphone"


@pytest.mark.slow
def test_a_visitor_limited_to_a_pool_sees_nothing_of_others(tmp_path: Path) -> None:
    dumps = [
        *record_build(1, device="mine", pool="lab", count=2),
        *record_build(777, device="theirs", pool="outdoors", count=2),
    ]
    store = ingest_all(tmp_path / "s", dumps)
    secret = create_token(store, "lab", scopes=[Scope.READ], pools=["lab"])
    with serving(store) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        for path in VIEWS:
            text = client.get(path).text
            assert "theirs" not in text, path
            assert "b777" not in text, path
            assert "outdoors" not in text, path
        assert "mine" in client.get("/").text
        assert client.get("/v1/queries/page_facets").status_code == HTTPStatus.NOT_FOUND
        assert "theirs" not in client.get(HISTORY, params={"device": "their"}).text
        refused = "/explore/ingest_errors"
        closed = (
            refused,
            "/regressions",
            "/sql",
            f"{HISTORY}?pool=outdoors",
            "/?pool=*",
            "/?pool=l*",
        )
        for path in closed:
            assert client.get(path).status_code == HTTPStatus.FORBIDDEN, path


@pytest.mark.parametrize(
    ("path", "shows"),
    [
        ("/", ["dumps refused nights upkeep decisions"]),
        ("/regressions", ["nights decisions"]),
        (f"{HISTORY}?device=no", ["dumps upkeep"]),
        ("/explain", []),
        ("/sql", []),
    ],
)
def test_a_page_lists_the_events_that_would_change_it(
    site: TestClient, path: str, shows: list[str]
) -> None:
    assert (
        re.findall('data-since="[0-9a-f]{8}(?:-[0-9]+){5}" data-shows="(.*?)"', site.get(path).text)
        == shows
    )


def test_every_view_refuses_a_token_that_may_not_read(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "farm", scopes=[Scope.INGEST])
    with serving(tmp_path) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        assert {client.get(path).status_code for path in VIEWS if path != "/sql"} == {403}


def test_long_addresses_are_whole(site: TestClient) -> None:
    names = [f"phone-{number:030}*" for number in range(40)]
    text = site.get("/dumps", params={"device": [*names, "phone"]}).text
    removed = [one for one in _hrefs(text) if one.startswith("/dumps?")]
    assert max(one.count("device=") for one in removed) >= len(names)
