"""What holds for the answers of every route: their headers, and names with any characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode
from xml.etree.ElementTree import fromstring

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.support.nightly_farm import ingest_all, record_build
from tests.support.service import serving
from tracehouse import Warehouse
from tracehouse.cli.serve.app import list_routes
from tracehouse.queries.report.nightly import read_night
from tracehouse.queries.report.settings import Settings

_HISTORY = "/explore/build_history"
_STRANGE = "\x01\x08\x0b\x1f\x7f\x9b\ufffe\uffff\u202e]]>"  # no XML can hold the most of these
_OPERATOR = f"native_call_{_STRANGE}.out"
_NOT_TEXT = re.compile("[^\t\n\r -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NIGHTS = 12
_ROUTES = [route for route in list_routes() if isinstance(route, Route)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service whose names are strange, with an alert on an operator."""
    dumps = []
    for number in range(_NIGHTS):
        names = {
            "pool": f"pool{_STRANGE}",
            "build": {"id": f"b{number}{_STRANGE}", "ordinal": number, "commit": "c0ffee"},
            "model": {"name": f"net{_STRANGE}", "backend": f"back{_STRANGE}"},
            "tags": {"status": _STRANGE},
        }
        slower = {_OPERATOR: 1.5 if number >= _NIGHTS - 3 else 1.0}
        dumps += record_build(number, slower, device=f"phone{_STRANGE}", **names)
    store = ingest_all(tmp_path_factory.mktemp("strange") / "store", dumps)
    with Warehouse.open(store) as warehouse:
        warehouse.write_note(_STRANGE, build=f"b3{_STRANGE}", device=f"phone{_STRANGE}")
        night = read_night(warehouse, Settings(), None)
        assert night.report.groups
        warehouse.keep_night(night.packed())
    with serving(store) as client:
        yield client


@pytest.fixture(scope="module")
def paths(client: TestClient) -> list[str]:
    """Addresses of all forms of reports and of all views that draw something."""
    builds = {"base": f"b2{_STRANGE}", "head": f"b{_NIGHTS - 1}{_STRANGE}"}
    group = client.get("/v1/report?format=json").json()["groups"][0]["id"]
    sha256 = client.get("/v1/queries/dumps?format=json").json()[0]["sha256"]
    operator = urlencode({"event": _OPERATOR, "at": builds["base"]})
    return [
        *(f"/v1/report?format={form}" for form in ("html", "junit")),
        *(f"/v1/report?{urlencode({**builds, 'format': form})}" for form in ("html", "junit")),
        f"/v1/explain?group={group}&format=html",
        "/", _HISTORY, f"{_HISTORY}.svg", f"{_HISTORY}?{operator}", f"{_HISTORY}.svg?{operator}",
        "/explore", "/explore/operator_hotspots", "/explore/operator_hotspots.svg",
        f"/compare?{urlencode(builds)}", f"/timelines?{urlencode(builds)}",
        "/regressions", f"/explain?group={group}", "/dumps",
        f"/dumps/{sha256}", f"/dumps/{sha256}/run.svg",
        "/nights.atom", "/explore/ingest_errors", f"{_HISTORY}?{urlencode({'device': _STRANGE})}",
    ]  # fmt: skip


def test_names_of_any_characters_break_no_page_no_drawing_no_feed_and_no_report(
    client: TestClient, paths: list[str]
) -> None:
    kinds = set()
    for path in paths:
        answer = client.get(path)
        kind = answer.headers["content-type"].partition(";")[0]
        assert answer.status_code == 200 or "device=" in path, (path, answer.text)
        assert not _NOT_TEXT.search(unescape(answer.text)), path
        drawings = list(_drawings(answer.text)) if kind == "text/html" else [answer.text]
        for drawing in drawings:
            fromstring(drawing)  # noqa: S314 - ours
        kinds |= {kind, *("drawing" for _ in drawings)}
    assert kinds == {
        "text/html",
        "image/svg+xml",
        "application/atom+xml",
        "application/xml",
        "drawing",
    }


def _drawings(page: str) -> Iterator[str]:
    """The drawings of a page, each with those inside of it."""
    depth, start = 0, 0
    for found in re.finditer("<svg|</svg>", page):
        start = start if depth else found.start()
        depth += 1 if found.group() == "<svg" else -1
        if not depth:
            yield page[start : found.end()]


def _example(route: Route) -> str:
    return re.sub(r"\{.*?\}", "0" * 64, route.path)


@pytest.mark.parametrize("route", _ROUTES, ids=lambda route: route.path)
def test_an_answer_loads_and_runs_nothing_but_what_is_of_the_site(
    client: TestClient, route: Route
) -> None:
    endless = {"GET"} if route.path == "/v1/changes" else set()
    for method in sorted(set(route.methods or ()) - endless):
        answer = client.request(method, _example(route), follow_redirects=False)
        _check_headers(answer.headers)


def test_reports_and_drawings_load_and_run_nothing(client: TestClient, paths: list[str]) -> None:
    for path in paths:
        _check_headers(client.get(path).headers)
    policy = client.get(paths[0]).headers["content-security-policy"]
    assert "script-src" not in policy


def _check_headers(headers: object) -> None:
    policies = headers.get_list("content-security-policy")  # type: ignore[attr-defined]
    assert [policy.startswith("default-src 'none'; ") for policy in policies] == [True]
    assert "frame-ancestors 'none'" in policies[0]
    for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin")):
        assert headers.get_list(name) == [value]  # type: ignore[attr-defined]
