from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.requests import ClientDisconnect

from tests.support.service import service_of, serving
from tracehouse import Warehouse
from tracehouse.cli.serve.access.authorization import ANYONE
from tracehouse.cli.serve.answers.questions import query_store
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import ConcurrencyLimit
from tracehouse.cli.serve.service import Service
from tracehouse.warehouse.errors import LongQuestionError

DUMPS = "/v1/queries/dumps"
ENDLESS = "SELECT count(*) FROM range(1000000000000)"


def request_of(service: Service, receive: Callable[[], Awaitable[Any]]) -> Any:
    """A request whose body has been read; `receive` waits for what comes after it."""
    state = SimpleNamespace(service=service, store_limit=ConcurrencyLimit(1, 0))
    client = SimpleNamespace(bearer=ANYONE)
    return SimpleNamespace(app=SimpleNamespace(state=state), state=client, receive=receive)


@pytest.mark.unit
def test_requests_beyond_the_running_and_waiting_limits_are_deferred() -> None:
    answers: list[object] = []
    is_over = threading.Event()

    async def take(limit: ConcurrencyLimit) -> None:
        try:
            answers.append(await limit.run(is_over.wait))
        except Problem as problem:
            answers.append((problem.status_code, (problem.headers or {})["Retry-After"]))

    async def crowd() -> None:
        limit = ConcurrencyLimit(2, 3)
        async with anyio.create_task_group() as tasks:
            for _ in range(7):
                tasks.start_soon(take, limit)
            await anyio.wait_all_tasks_blocked()
            is_over.set()

    anyio.run(crowd)
    busy = (HTTPStatus.TOO_MANY_REQUESTS, "1")
    assert answers == [busy, busy, True, True, True, True, True]


@pytest.mark.unit
def test_an_error_of_the_work_comes_out_and_ends_its_turn() -> None:
    async def one_after_the_other() -> int:
        limit = ConcurrencyLimit(1, 1)
        with pytest.raises(ZeroDivisionError):
            await limit.run(lambda: 1 // 0)
        return await limit.run(lambda: 5)

    assert anyio.run(one_after_the_other) == 5


def test_a_question_that_takes_too_long_is_interrupted_and_harms_nobody(tmp_path: Path) -> None:
    with serving(tmp_path / "store", query_seconds=0.2) as client:
        service = service_of(client)
        request = request_of(service, anyio.sleep_forever)
        with pytest.raises(Problem, match=r"more than 0\.2 s") as caught:
            anyio.run(query_store, request, lambda reader: reader.sql(ENDLESS))
        assert caught.value.status_code == 504
        service.settings = service.settings.model_copy(update={"query_seconds": 60.0})
        assert client.get(DUMPS).json() == []


def test_a_question_whose_client_goes_away_is_interrupted(tmp_path: Path) -> None:
    is_asked = threading.Event()

    async def receive() -> dict[str, str]:
        await anyio.to_thread.run_sync(is_asked.wait)
        return {"type": "http.disconnect"}

    def ask(reader: Warehouse) -> None:
        is_asked.set()
        reader.sql(ENDLESS)

    with serving(tmp_path / "store") as client, pytest.raises(ClientDisconnect):
        anyio.run(query_store, request_of(service_of(client), receive), ask)


def test_pages_and_queries_take_turns_so_that_others_are_answered_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "store") as client, ThreadPoolExecutor(6) as pool:
        service = service_of(client)
        reader, there, is_over = service.reader, threading.Semaphore(0), threading.Event()

        @contextmanager
        def slow_reader(pools: frozenset[str] | None) -> Iterator[Warehouse]:
            there.release()
            is_over.wait(30)
            with reader(pools) as opened:
                yield opened

        monkeypatch.setattr(service, "reader", slow_reader)
        asked = [pool.submit(client.get, path) for path in ("/dumps", DUMPS) * 3]
        assert all(there.acquire(timeout=30) for _ in range(4))
        assert not there.acquire(timeout=0.2)
        assert client.get("/metrics").status_code == 200
        is_over.set()
        assert {one.result(30).status_code for one in asked} == {200}


def test_a_question_that_would_take_too_long_is_refused_with_its_filters(tmp_path: Path) -> None:
    def answer(_: Warehouse) -> None:
        raise LongQuestionError("percentiles", 240, 60, ["device", "build"])

    with serving(tmp_path / "store") as client:
        request = request_of(service_of(client), anyio.sleep_forever)
        with pytest.raises(Problem, match=r"240 s.* 25% .* such as device, build") as it:
            anyio.run(query_store, request, answer)
    assert it.value.status_code == 422
