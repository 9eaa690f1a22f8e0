"""The form that asks for a token."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.serve.access.authorization import Scope
from cli.serve.access.tokens import create_token
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
        assert '<form method="post" action="/logout"><button>Sign out me</button></form>' in text
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
