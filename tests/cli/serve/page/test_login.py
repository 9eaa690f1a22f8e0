"""Where a visitor gives a token."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from cli.serve.access import ANYBODY, Bearer, Scope
from cli.serve.problems import Problem


@pytest.fixture
def guarded(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """The site, where only one token is known."""

    def need(request: Request, _: Scope) -> Bearer:
        if request.headers.get("authorization") != "Bearer secret":
            raise Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", "the token is not known")
        return ANYBODY

    monkeypatch.setattr(site.app.state.service.access, "need", need)  # type: ignore[attr-defined]
    return site


def test_a_known_token_becomes_a_cookie_and_leads_back(guarded: TestClient) -> None:
    answer = guarded.post(
        "/login?next=/dumps%3Fdevice%3Dx", data={"token": " secret "}, follow_redirects=False
    )
    assert answer.status_code == HTTPStatus.SEE_OTHER
    assert answer.headers["location"] == "/dumps?device=x"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("tracehouse=secret;")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie


def test_an_unknown_token_is_told_and_no_cookie_set(guarded: TestClient) -> None:
    answer = guarded.post("/login", data={"token": "guess"}, follow_redirects=False)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert "the token is not known" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_it_leads_nowhere_else(guarded: TestClient, target: str) -> None:
    answer = guarded.post(
        "/login", params={"next": target}, data={"token": "secret"}, follow_redirects=False
    )
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("token", ["x" * 5000, "größe"])
def test_what_cannot_be_a_token_is_refused(guarded: TestClient, token: str) -> None:
    answer = guarded.post("/login", data={"token": token}, follow_redirects=False)
    assert 400 <= answer.status_code < 500
