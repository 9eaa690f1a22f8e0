from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.documents import ROOT
from tests.support.service import service_of, serving
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token, revoke_token
from tracehouse.cli.serve.page.routes import SCRIPTS

UPLOT = ROOT / "cli" / "serve" / "page" / "static" / "uplot"


def test_uplot_is_the_published_one() -> None:
    listed = (UPLOT / "ORIGIN").read_text().splitlines()[1:]
    sums = {name: digest for digest, name in (line.split() for line in listed)}
    found = {path.name: _digest(path) for path in UPLOT.iterdir() if path.name != "ORIGIN"}
    assert found == sums


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_are_served_to_the_pages_that_need_them(site: TestClient, path: str) -> None:
    answer = site.get(path)
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = "/sql" if path == "/sql.js" else "/explore/build_history"
    assert f'<script src="{path}" defer></script>' in site.get(page).text
    scripts = re.findall('<script src="(.*?)" defer', site.get("/dumps").text)
    assert scripts == ["/page.js", "/changes.js"]


def test_the_mark_is_an_image_of_the_site(site: TestClient) -> None:
    answer = site.get("/mark.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert '<link rel="icon" href="/mark.svg"' in site.get("/dumps").text


def test_the_content_security_policy_forbids_inline_scripts(site: TestClient) -> None:
    policy = site.get("/explore/build_history").headers["content-security-policy"]
    assert re.search(r"script-src 'self';", policy)
    assert "unsafe" not in policy


def test_the_style_sheet_has_the_colours_of_lines_and_uplot_s_own(site: TestClient) -> None:
    text = site.get("/style.css").text
    assert ".c7 { --line: var(--s-8); }" in text
    assert ".u-over" in text


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, str]]:
    """A client of a service, and the secret of its token "me"."""
    store = tmp_path_factory.mktemp("store")
    secret = create_token(store, "me", scopes=[Scope.READ])
    with serving(store) as client:
        yield client, secret


@pytest.fixture
def client(service: tuple[TestClient, str]) -> TestClient:
    """A client that has not signed in."""
    service[0].cookies.clear()
    return service[0]


@pytest.fixture
def secret(service: tuple[TestClient, str]) -> str:
    return service[1]


def test_a_visitor_signs_in_and_comes_where_they_wanted_to_go(
    client: TestClient, secret: str
) -> None:
    form = client.get("/dumps?device=x")
    assert '<input type="hidden" name="next" value="/dumps?device=x">' in form.text
    assert "Sign out" not in form.text
    assert 'aria-label="Views"' not in form.text  # which a visitor could not open
    assert 'size="54"' in form.text  # a token has 54 letters
    answer = client.post("/login", data={"token": f" {secret} ", "next": "/dumps"})
    assert answer.status_code == 200
    assert "<title>Dumps" in answer.text


def test_a_visitor_who_signed_in_is_named_and_can_sign_out(client: TestClient, secret: str) -> None:
    text = client.post("/login", data={"token": secret}).text
    assert "<span>Signed in as me</span> <button>Sign out</button>" in text
    assert "<title>Sign in" in client.post("/logout").text


@pytest.mark.parametrize("token", ["", "guess", '"><script>'])
def test_an_invalid_token_is_reported_in_the_login_form(client: TestClient, token: str) -> None:
    answer = client.post("/login", data={"token": token, "next": "/dumps"})
    assert answer.status_code == 401
    assert "here is no such token" in answer.text
    assert 'name="next" value="/dumps"' in answer.text
    assert '"><script>' not in answer.text


def test_a_login_lets_the_browser_read(client: TestClient, secret: str) -> None:
    form = {"token": f" {secret}\n", "next": "/metrics"}
    answer = client.post("/login", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/metrics")
    kept = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= set(kept.split("; "))
    assert "secure" not in kept
    assert client.get("/metrics").status_code == 200
    client.post("/logout", follow_redirects=False)
    assert client.get("/metrics").status_code == 401


def test_a_token_that_was_just_made_or_revoked_is_known_to_the_login(client: TestClient) -> None:
    def login() -> int:
        answer = client.post("/login", data={"token": secret}, follow_redirects=False)
        return int(answer.status_code)

    store = service_of(client).store
    secret = create_token(store, "other", scopes=[Scope.READ])
    assert login() == 303
    revoke_token(store, "other")
    assert login() == 401


def test_a_cookie_that_came_by_tls_goes_by_tls_alone(client: TestClient, secret: str) -> None:
    address = "https://farm.example/login"
    answer = client.post(address, data={"token": secret}, follow_redirects=False)
    assert "secure" in answer.headers["set-cookie"].lower().split("; ")


@pytest.mark.parametrize(
    "place", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nX-A: b"]
)
def test_a_login_leads_to_no_other_site(client: TestClient, secret: str, place: str) -> None:
    form = {"token": secret, "next": place}
    answer = client.post("/login", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_login_without_a_valid_token_keeps_no_cookie(client: TestClient) -> None:
    for form, status in (
        ({}, 401),
        ({"token": "x"}, 401),
        ({"token": "x" * 9000}, 413),
        ({str(number): "x" for number in range(9)}, 400),
    ):
        answer = client.post("/login", data=form)
        assert (answer.status_code, answer.headers.get("set-cookie")) == (status, None)
    assert client.post("/login", content=b"token=\xff").status_code == 400


def test_a_page_of_another_site_logs_nobody_in_or_out(client: TestClient, secret: str) -> None:
    strange = {"Origin": "https://evil.example"}
    for path in ("/login", "/logout"):
        answer = client.post(path, data={"token": secret}, headers=strange)
        assert (answer.status_code, answer.json()["reason"]) == (403, "other_site")
