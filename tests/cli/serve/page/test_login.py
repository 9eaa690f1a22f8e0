"""The form that asks for a token."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cli.serve.access.authorization import Scope
from cli.serve.access.tokens import create_token, revoke_token
from tests.support.cross_section import cross_section
from tests.support.service import serving


def test_a_visitor_signs_in_and_comes_where_they_wanted_to_go(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        form = client.get("/dumps?device=x")
        assert '<input type="hidden" name="next" value="/dumps?device=x">' in form.text
        answer = client.post("/login", data={"token": f" {secret} ", "next": "/dumps"})
        assert answer.status_code == 200
        assert "<title>Dumps" in answer.text


def test_whoever_signed_in_is_named_and_can_sign_out(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        assert "Sign out" not in client.get("/login").text
        text = client.post("/login", data={"token": secret}).text
        assert '<form method="post" action="/logout"><button>Sign out (me)</button></form>' in text
        assert "<title>Sign in" in client.post("/logout").text


@pytest.mark.parametrize("token", ["", "guess", '"><script>'])
def test_a_token_that_does_not_hold_is_told_in_the_form(tmp_path: Path, token: str) -> None:
    create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        answer = client.post("/login", data={"token": token, "next": "/dumps"})
    assert answer.status_code == 401
    assert "there is no such token" in answer.text
    assert 'name="next" value="/dumps"' in answer.text
    assert "<script" not in answer.text


def test_a_login_lets_the_browser_read(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        form = {"token": f" {secret}\n", "next": "/metrics"}
        answer = client.post("/login", data=form, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/metrics")
        kept = answer.headers["set-cookie"].lower()
        assert {"httponly", "samesite=strict", "path=/"} <= set(kept.split("; "))
        assert "secure" not in kept
        assert client.get("/metrics").status_code == 200
        client.post("/logout", follow_redirects=False)
        assert client.get("/metrics").status_code == 401


def test_a_token_that_was_just_made_or_revoked_is_known_to_the_login(tmp_path: Path) -> None:
    create_token(tmp_path, "first", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        secret = create_token(tmp_path, "me", scopes=[Scope.READ])
        assert login(client, secret) == 303
        revoke_token(tmp_path, "me")
        assert login(client, secret) == 401


def login(client: TestClient, secret: str) -> int:
    """The status of the answer."""
    return client.post("/login", data={"token": secret}, follow_redirects=False).status_code


def test_a_cookie_that_came_by_tls_goes_by_tls_alone(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        client.base_url = "https://farm.example"
        answer = client.post("/login", data={"token": secret}, follow_redirects=False)
    assert "secure" in answer.headers["set-cookie"].lower().split("; ")


@pytest.mark.parametrize(
    "place",
    cross_section(
        ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nX-A: b"], 3
    ),
)
def test_a_login_leads_to_no_other_site(tmp_path: Path, place: str) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        form = {"token": secret, "next": place}
        answer = client.post("/login", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_login_without_a_token_that_holds_keeps_no_cookie(tmp_path: Path) -> None:
    create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        for form, status in (
            ({}, 401),
            ({"token": "x"}, 401),
            ({"token": "x" * 5000}, 413),
            ({str(number): "x" for number in range(9)}, 400),
        ):
            answer = client.post("/login", data=form)
            assert (answer.status_code, answer.headers.get("set-cookie")) == (status, None)
        assert client.post("/login", content=b"token=\xff").status_code == 400


def test_a_page_of_another_site_logs_nobody_in_or_out(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        strange = {"Origin": "https://evil.example"}
        for path in ("/login", "/logout"):
            answer = client.post(path, data={"token": secret}, headers=strange)
            assert (answer.status_code, answer.json()["reason"]) == (403, "other_site")
