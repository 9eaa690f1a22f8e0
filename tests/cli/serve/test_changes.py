from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from tests.support.command import ENVIRONMENT
from tests.support.nightly_farm import nightly_store
from tests.support.service import service_of, serving
from tests.support.service_process import ServiceProcess
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import send
from tests.support.waiting import until
from tracehouse.cli.serve import changes
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token, revoke_token
from tracehouse.cli.serve.changes import Changes, Counts


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(changes, "PAUSE_SECONDS", 0.01)
    with serving(tmp_path / "s") as client:
        yield client


def _changes_of(client: TestClient) -> Changes:
    found: Changes = client.app.state.changes  # type: ignore[attr-defined]
    return found


def _request(client: TestClient, secret: str = "") -> Request:
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {secret}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/v1/changes", "query_string": b""}
    request = Request({**scope, "headers": headers if secret else headers[:1]})
    service_of(client).access.need(request, Scope.READ)
    return request


def _happen(client: TestClient, *pools: str | None) -> None:
    """Dumps of devices of these pools are stored."""
    service_of(client).consumer.indexed.update(pools)


async def _next(stream: AsyncIterator[str]) -> tuple[str, dict[str, int]]:
    """The id and the data of the next event that is no comment."""
    fields: dict[str, str] = {}
    while "id" not in fields:
        text = await asyncio.wait_for(anext(stream), 10)
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return fields["id"], json.loads(fields.get("data", "{}"))


def test_changes_during_a_pause_are_sent_as_one_event(client: TestClient) -> None:
    async def listen() -> None:
        stream = _changes_of(client).stream(_request(client), None)
        first, nothing = await _next(stream)
        _happen(client, "lab")
        _happen(client, "lab", None)
        service_of(client).consumer.refused["truncated"] += 1
        second, counts = await _next(stream)
        assert nothing == {}
        assert first != second
        assert counts == Counts(dumps=3, refused=1)._asdict()

    asyncio.run(listen())


def test_a_reconnecting_client_is_told_what_it_missed(client: TestClient) -> None:
    async def missed(since: str) -> int:
        stream = _changes_of(client).stream(_request(client), since)
        await _next(stream)
        return (await _next(stream))[1]["dumps"]

    async def listen() -> None:
        found = _changes_of(client)
        _happen(client, "lab", "lab")
        known = found.name(found.count(None))
        _happen(client, "attic")
        assert await missed(known) == 1
        assert await missed("0-0-0-0-0-0") == 3  # since the start of the service

    asyncio.run(listen())


@pytest.mark.parametrize("name", ["", "x", "{}-1", "{}-1-1-1-1--1", "{}-1-1-1-1-1\n", "{}-9e9-1-1"])
def test_an_unknown_event_id_counts_from_the_start_of_the_service(
    client: TestClient, name: str
) -> None:
    found = _changes_of(client)
    assert found.parse(name.format(found.name(Counts()).partition("-")[0])) == Counts()


def test_nights_upkeep_and_decisions_are_counted_once_they_are_done(tmp_path: Path) -> None:
    with serving(Path(shutil.copytree(nightly_store(), tmp_path / "s"))) as client:
        found = _changes_of(client)
        client.get("/regressions")  # a small store's night is judged at once
        until(lambda: found.count(None).nights == 1)
        group = client.get("/v1/report?format=json").json()["groups"][0]["id"]
        decision = {"groups": [group], "reason": "known"}
        assert client.post("/v1/upkeep/accept", json=decision).status_code == 200
        assert client.post("/v1/upkeep/accept", json={"groups": ["none"]}).status_code == 400
        assert client.post("/v1/upkeep/snapshot", json={}).status_code == 200
        counts = found.count(None)
        assert (counts.decisions, counts.upkeep) == (1, 1)


def _limited(client: TestClient, pools: Collection[str]) -> str:
    store = service_of(client).store
    return create_token(store, "lab", scopes=[Scope.READ], pools=tuple(pools))


def test_a_token_learns_nothing_of_other_pools(client: TestClient) -> None:
    secret = _limited(client, ["lab"])

    async def listen() -> None:
        stream = _changes_of(client).stream(_request(client, secret), None)
        first, _ = await _next(stream)
        _happen(client, "attic", None)
        service_of(client).consumer.refused["truncated"] += 1
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 0.1)
        stream = _changes_of(client).stream(_request(client, secret), first)
        assert await _next(stream) == (first, {})
        _happen(client, "lab")
        assert (await _next(stream))[1] == Counts(dumps=1)._asdict()

    asyncio.run(listen())


def test_a_revoked_token_hears_nothing_more(client: TestClient) -> None:
    secret = _limited(client, ["lab"])

    async def listen() -> list[str]:
        stream = _changes_of(client).stream(_request(client, secret), None)
        await _next(stream)
        create_token(service_of(client).store, "other", scopes=[Scope.READ])
        revoke_token(service_of(client).store, "lab")
        _happen(client, "lab")
        return [text async for text in stream]

    assert asyncio.run(listen()) == []


def test_a_quiet_stream_has_comments(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "BEAT_SECONDS", 0.02)

    async def listen() -> None:
        stream = _changes_of(client).stream(_request(client), None)
        await _next(stream)
        assert await asyncio.wait_for(anext(stream), 10) == ":\n\n"

    asyncio.run(listen())


def test_streams_end_with_the_service_and_are_counted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "PAUSE_SECONDS", 3600.0)

    async def listen() -> list[str]:
        found = _changes_of(client)
        stream = found.stream(_request(client), None)
        await _next(stream)
        assert "tracehouse_listeners 1.0" in service_metrics()
        found.end()
        return [text async for text in stream]

    def service_metrics() -> str:
        text: bytes = client.app.state.metrics.text()  # type: ignore[attr-defined]
        return text.decode()

    assert asyncio.run(listen()) == []
    assert "tracehouse_listeners 0.0" in service_metrics()


def test_the_number_of_listeners_is_limited(client: TestClient) -> None:
    _changes_of(client).listeners = changes.MOST_LISTENERS
    answer = client.get("/v1/changes")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")


def test_a_request_for_the_head_alone_is_answered(client: TestClient) -> None:
    answer = client.head("/v1/changes")
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_an_unknown_parameter_is_refused(client: TestClient) -> None:
    assert client.get("/v1/changes?after=1").json()["reason"] == "parameter"


# Lets a service take an hour to end: one whose end is delayed is still there after a minute.
PATIENT = """
from tracehouse.cli.serve import running
running.LAST_SECONDS = running.ENDING_SECONDS = 3600
"""


@pytest.mark.smoke
def test_an_open_change_stream_does_not_delay_the_end_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(PATIENT)
    patient = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    with (
        ServiceProcess(tmp_path / "s", patient, batch_seconds=0.1, free_bytes=0) as service,
        httpx2.Client(base_url=service.url, timeout=30) as client,
        client.stream("GET", "/v1/changes") as answer,
    ):
        lines: list[str] = []
        thread = threading.Thread(target=lambda: lines.extend(answer.iter_lines()))
        thread.start()
        send(client, tiny_dump(1))
        until(lambda: any(line.startswith("data: ") for line in lines))
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
        thread.join()
    (text,) = (line for line in lines if line.startswith("data: "))
    assert json.loads(text.removeprefix("data: ")) == Counts(dumps=1)._asdict()
