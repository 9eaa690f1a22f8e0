from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import ingest_all, record_build
from tests.support.service import service_of, serving
from tests.support.service_process import ServiceProcess
from tests.support.waiting import until
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.answers import agents
from tracehouse.cli.serve.http.endpoints import SHORT_BYTES

HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a service with a device in the pool lab, and one in the pool field."""
    dumps = [
        *record_build(1, device="mine", pool="lab", count=2),
        *record_build(1, device="theirs", pool="field", count=2),
    ]
    with serving(ingest_all(tmp_path_factory.mktemp("farm") / "s", dumps)) as client:
        yield client


def ask(client: TestClient, method: str, secret: str = "", **params: Any) -> Any:
    """The result of a request of an agent, or the answer without one."""
    headers = HEADERS | ({"Authorization": f"Bearer {secret}"} if secret else {})
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = client.post("/mcp", json=body, headers=headers)
    return answer.json()["result"] if answer.status_code == 200 else answer


def call(client: TestClient, tool: str, arguments: Any = None, *pools: str) -> tuple[str, bool]:
    """The text of a tool's answer to a token that is limited to some pools."""
    store, scopes = service_of(client).store, [Scope.READ]
    secret = create_token(store, str(uuid4()), scopes=scopes, pools=pools)
    result = ask(client, "tools/call", secret, name=tool, arguments=arguments or {})
    return result["content"][0]["text"], result["isError"]


def test_tools_are_those_of_a_store_but_for_files(client: TestClient) -> None:
    secret = create_token(service_of(client).store, "lister", scopes=[Scope.READ])
    names = {tool["name"] for tool in ask(client, "tools/list", secret)["tools"]}
    assert {"report", "compare", "query", "sql", "schema"} < names
    assert "inspect" not in names


def test_without_a_token_agents_get_nothing(client: TestClient) -> None:
    create_token(service_of(client).store, "any", scopes=[Scope.READ])
    for secret in ("", "tracehouse_wrong"):
        assert ask(client, "tools/list", secret).status_code == 401
    secret = create_token(service_of(client).store, "sender", scopes=[Scope.INGEST])
    assert ask(client, "tools/list", secret).status_code == 403


def test_a_token_without_a_limit_sees_all_pools(client: TestClient) -> None:
    text, is_error = call(client, "query", {"name": "coverage"})
    assert ("mine" in text, "theirs" in text, is_error) == (True, True, False)


def test_a_token_limited_to_a_pool_sees_only_that(client: TestClient) -> None:
    text, is_error = call(client, "query", {"name": "coverage"}, "lab")
    assert ("mine" in text, "theirs" in text, is_error) == (True, False, False)
    text, is_error = call(
        client, "query", {"name": "coverage", "params": {"device": ["theirs"]}}, "lab"
    )
    assert (is_error, "'theirs' is not in the store; there are mine" in text) == (True, True)


@pytest.mark.parametrize(
    ("tool", "arguments", "pools", "problem"),
    [
        (
            "query",
            {"name": "coverage", "params": {"pool": ["field"]}},
            ["lab"],
            "the token is limited to lab",
        ),
        ("report", {}, ["lab"], "the report covers all device pools"),
        ("sql", {"statement": "SELECT 1"}, [], "has no scope sql"),
        ("query", {"name": "coverage", "params": {"device": ["min"]}}, [], "did you mean mine?"),
        ("query", {"name": "coverage", "params": {"since": "yesterday"}}, [], "since"),
    ],
)
def test_a_refusal_of_the_service_is_an_error_of_the_mcp_tool(
    client: TestClient, tool: str, arguments: Any, pools: list[str], problem: str
) -> None:
    text, is_error = call(client, tool, arguments, *pools)
    assert is_error
    assert problem in text


def test_the_statement_of_an_agent_that_goes_away_is_stopped(tmp_path: Path) -> None:
    arguments = {"statement": "SELECT count(*) FROM range(1000000000000)"}
    params = {"name": "sql", "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    messages = [
        {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {"host": "127.0.0.1", "content-type": "application/json", **HEADERS}
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    place = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b""}
    with serving(tmp_path / "store", query_seconds=600) as client:
        assert client.portal
        client.portal.call(
            client.app, {**place, "headers": pairs, "client": ("127.0.0.1", 1)}, receive, send
        )
    assert b"the client went away" in b"".join(one.get("body", b"") for one in sent)


def test_a_page_of_another_site_cannot_ask(client: TestClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = client.post("/mcp", json=body, headers=HEADERS | {"Origin": "http://evil.example"})
    assert answer.status_code in {401, 403}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_the_mcp_endpoint_offers_no_streams_and_no_sessions(
    client: TestClient, method: str
) -> None:
    answer = client.request(method, "/mcp", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b" " * (SHORT_BYTES + 1), 413, "more than 65,536 bytes"),
        (b'{"id": 1, "method": "ping", "id": 2}', 400, "the key 'id' twice"),
        (b"[" * 60_000, 400, "the body is too deep"),
        (b'[{"id": 1, "method": "ping"}]', 400, "wanted one message: an object"),
    ],
)
def test_a_body_that_is_too_long_or_ambiguous_is_refused(
    client: TestClient, body: bytes, status: int, problem: str
) -> None:
    secret = create_token(service_of(client).store, str(uuid4()), scopes=[Scope.READ])
    answer = client.post("/mcp", content=body, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == status
    assert problem in answer.json()["detail"]


def test_arguments_that_are_longer_than_an_address_may_be_are_an_error(client: TestClient) -> None:
    text, is_error = call(
        client, "query", {"name": "coverage", "params": {"device": ["\u00e9" * 20_000]}}
    )
    assert (is_error, "\nthe head has more than 65,536 bytes: " in text) == (True, True)
    text, is_error = call(
        client, "query", {"name": "coverage", "params": {"device": ["a"] * 2_000}}
    )
    assert (is_error, "2,000 parameters, wanted at most 1,000" in text) == (True, True)


@pytest.mark.parametrize(
    "headers",
    [{"If-None-Match": "*"}, {"Last-Event-ID": "x"}, {"Content-Encoding": "x"}, {"Range": "x"}],
    ids=str,
)
def test_headers_about_the_answer_do_not_reach_the_endpoint_that_a_tool_asks(
    client: TestClient, headers: dict[str, str]
) -> None:
    secret = create_token(service_of(client).store, str(uuid4()), scopes=[Scope.READ])
    params = {"name": "query", "arguments": {"name": "coverage"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    sent = HEADERS | {"Authorization": f"Bearer {secret}"}
    plain, other = (client.post("/mcp", json=body, headers=sent | one) for one in ({}, headers))
    assert other.json() == plain.json()
    assert not other.json()["result"]["isError"]


def test_an_answer_that_is_too_long_for_memory_is_an_error_with_a_remedy(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(client)
    short = service.settings.model_copy(update={"answer_bytes": 100})
    monkeypatch.setattr(service, "settings", short)
    text, is_error = call(client, "query", {"name": "coverage"})
    assert (is_error, "more than 100 bytes: ask about fewer dumps" in text) == (True, True)


def test_agents_beyond_those_that_may_wait_are_put_off(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = next(one.app for one in client.app.routes if one.path == agents.PATH)._limit
    monkeypatch.setattr(limit, "count", sum(agents.CALLS))
    secret = create_token(service_of(client).store, str(uuid4()), scopes=[Scope.READ])
    answer = ask(client, "tools/list", secret)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")


@pytest.mark.system
def test_a_statement_of_an_agent_leaves_no_note_in_the_log(
    client: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = create_token(service_of(client).store, "asker", scopes=[Scope.READ, Scope.SQL])
    params = {"name": "sql", "arguments": {"statement": "SELECT 7 AS n"}}
    until(lambda: not ask(client, "tools/call", secret, **params)["isError"])
    assert "answered from" not in capfd.readouterr().err


@pytest.mark.system
def test_many_calls_at_once_are_all_answered(tmp_path: Path) -> None:
    params = {"name": "query", "arguments": {"name": "coverage"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = HEADERS | {"Content-Type": "application/json"}
    with ServiceProcess(tmp_path / "store", free_bytes=0) as service:

        def call(_: int) -> int:
            with closing(HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
                connection.request("POST", "/mcp", body, headers)
                return connection.getresponse().status

        with ThreadPoolExecutor(60) as threads:
            assert set(threads.map(call, range(60))) == {200}
