from __future__ import annotations

from pathlib import Path

import pytest
from starlette.requests import Request

from tests.support.service import serving
from tracehouse.cli.serve.access import tokens
from tracehouse.cli.serve.access.authorization import ANYONE, Access, Bearer, Scope, cookie_secret
from tracehouse.cli.serve.access.tokens import create_token, revoke_token
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.recording import current_user

LOCAL = {"host": "127.0.0.1:8080"}


def request(method: str = "GET", **headers: str) -> Request:
    named = {**LOCAL, **{name.replace("_", "-"): text for name, text in headers.items()}}
    raw = [(name.encode(), text.encode("latin-1")) for name, text in named.items()]
    return Request({"type": "http", "method": method, "headers": raw})


def refusal(access: Access, asked: Request, scope: Scope = Scope.READ) -> tuple[int, str]:
    with pytest.raises(Problem) as found:
        access.need(asked, scope)
    return found.value.status_code, found.value.reason


def test_a_service_without_tokens_allows_local_requests_everything(tmp_path: Path) -> None:
    access = Access(tmp_path)
    for host in ("127.0.0.1:8080", "127.0.0.2", "localhost", "LOCALHOST:1", "[::1]:8080", "[::1]"):
        assert access.need(request(host=host), Scope.ADMIN) == ANYONE


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "farm.example:8080"},
        {"host": "127.0.0.1.farm.example"},
        {"host": "0.0.0.0:8080"},
        {"host": ""},
        {"host": "["},
        {"host": "localhost@farm.example"},
        {"x_forwarded_for": "192.0.2.1"},
        {"x_forwarded_proto": "https"},
        {"forwarded": "for=192.0.2.1"},
        {"via": "1.1 proxy"},
    ],
)
def test_a_service_without_tokens_refuses_other_host_names_and_proxies(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    assert refusal(Access(tmp_path), request(**headers)) == (403, "not_local")


def test_a_cookie_is_the_secret_as_it_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def unquote(text: str) -> str:
        raise AssertionError(f"takes the square of {len(text)}")

    monkeypatch.setattr("http.cookies._unquote", unquote)
    for header, secret in (
        ("a=1; tracehouse=b=c ;d", "b=c"),
        ('tracehouse="\\a\\a"', '"\\a\\a"'),
        ("tracehouses=1; a=tracehouse", None),
        (";=;", None),
    ):
        assert cookie_secret(request(cookie=header).headers) == secret


def test_a_token_for_sql_may_read_the_schema(tmp_path: Path) -> None:
    secret = create_token(tmp_path / "store", "me", scopes=[Scope.SQL])
    with serving(tmp_path / "store") as client:
        headers = {"Authorization": f"Bearer {secret}"}
        answers = [client.get(f"/v1/{name}", headers=headers) for name in ("schema", "status")]
    assert [answer.status_code for answer in answers] == [200, 403]


def test_a_token_is_limited_to_its_scopes(tmp_path: Path) -> None:
    access = Access(tmp_path)
    secret = create_token(tmp_path, "lab", scopes=[Scope.INGEST, Scope.READ], pools=["lab"])
    asked = request(host="farm.example", authorization=f"Bearer {secret}")
    wanted = Bearer("lab", frozenset({Scope.INGEST, Scope.READ}), frozenset({"lab"}))
    assert access.need(asked, Scope.INGEST) == wanted
    assert access.need(asked, Scope.READ) == asked.state.bearer == wanted
    assert refusal(access, asked, Scope.SQL) == refusal(access, asked, Scope.ADMIN)
    assert refusal(access, asked, Scope.SQL) == (403, "no_scope")


def test_an_admin_token_has_every_scope(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "boss", scopes=[Scope.ADMIN])
    asked = request(authorization=f"bearer   {secret}")
    for scope in Scope:
        assert Access(tmp_path).need(asked, scope).name == "boss"


def test_the_owner_s_key_may_everything_and_is_of_one_service(tmp_path: Path) -> None:
    create_token(tmp_path, "me", scopes=[Scope.READ])
    access, other = Access(tmp_path), Access(tmp_path)
    asked = request(authorization=f"Bearer {access.key}")
    assert access.need(asked, Scope.UPKEEP) == Bearer(current_user(), frozenset(Scope))
    assert refusal(other, asked) == (401, "unknown_token")


def test_an_invalid_token_is_unauthorized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = create_token(tmp_path, "lab", scopes=[Scope.READ])
    access = Access(tmp_path)
    for headers, reason in (
        ({}, "no_token"),
        ({"authorization": ""}, "no_token"),
        ({"authorization": "Bearer "}, "no_token"),
        ({"authorization": f"Basic {secret}"}, "no_token"),
        ({"authorization": secret}, "no_token"),
        ({"authorization": f"Bearer {secret}x"}, "unknown_token"),
        ({"authorization": "Bearer \xff\xfe"}, "unknown_token"),
        ({"cookie": "tracehouse=x"}, "unknown_token"),
        # a browser's cookie stands in for no header that is wrong
        ({"authorization": "Bearer x", "cookie": f"tracehouse={secret}"}, "unknown_token"),
    ):
        assert refusal(access, request(**headers)) == (401, reason), headers
    revoke_token(tmp_path, "lab")
    asked = request(authorization=f"Bearer {secret}")
    assert refusal(access, asked) == (401, "unknown_token")
    short = create_token(tmp_path, "short", scopes=[Scope.READ], expires_days=1)
    monkeypatch.setattr(tokens.Token, "is_expired", lambda self, now: True)
    assert refusal(access, request(authorization=f"Bearer {short}")) == (401, "expired_token")


def test_an_unauthorized_answer_asks_for_a_token(tmp_path: Path) -> None:
    secret = create_token(tmp_path / "store", "lab", scopes=[Scope.INGEST])
    with serving(tmp_path / "store") as client:
        answer = client.get("/metrics")
        assert (answer.status_code, answer.json()["reason"]) == (401, "no_token")
        assert answer.headers["www-authenticate"] == 'Bearer realm="tracehouse"'
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
        assert (answer.status_code, answer.json()["reason"]) == (403, "no_scope")
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("headers", "is_taken"),
    [
        ({}, False),
        ({"origin": "https://farm.example"}, True),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site", "origin": "https://farm.example"}, False),
    ],
)
def test_a_cookie_changes_something_only_from_a_page_of_ours(
    tmp_path: Path, headers: dict[str, str], is_taken: bool
) -> None:
    secret = create_token(tmp_path, "lab", scopes=[Scope.ADMIN])
    access = Access(tmp_path)
    given = {"host": "farm.example", "cookie": f"tracehouse={secret}"}
    assert access.need(request(**given), Scope.READ).name == "lab"
    given |= headers
    if is_taken:
        assert access.need(request("POST", **given), Scope.SQL).name == "lab"
    else:
        assert refusal(access, request("POST", **given)) == (403, "other_site")


def test_a_service_without_tokens_refuses_changes_from_other_sites(tmp_path: Path) -> None:
    access = Access(tmp_path)
    assert access.need(request("PUT"), Scope.INGEST) == ANYONE
    assert access.need(request("PUT", origin="http://127.0.0.1:8080"), Scope.INGEST) == ANYONE
    for strange in ({"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}):
        assert refusal(access, request("PUT", **strange)) == (403, "other_site")


@pytest.mark.parametrize(
    ("mode", "is_taken"), [("no-cors", False), ("cors", False), ("navigate", True)]
)
def test_a_page_of_another_site_may_link_here_and_load_nothing(
    tmp_path: Path, mode: str, is_taken: bool
) -> None:
    access = Access(tmp_path)
    asked = request(sec_fetch_site="cross-site", sec_fetch_mode=mode)
    if is_taken:
        assert access.need(asked, Scope.READ) == ANYONE
    else:
        assert refusal(access, asked) == (403, "other_site")


def test_a_public_address_needs_tokens(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        Access(tmp_path).check_start(host)
    for host in ("0.0.0.0", "::", "192.0.2.1", "farm.example", ""):  # noqa: S104
        with pytest.raises(StoreError, match="tracehouse token create NAME --scope admin --store"):
            Access(tmp_path).check_start(host)
    create_token(tmp_path, "lab", scopes=[Scope.READ])
    Access(tmp_path).check_start("0.0.0.0")  # noqa: S104
