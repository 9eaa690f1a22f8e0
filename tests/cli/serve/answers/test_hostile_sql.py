"""SQL from anybody over HTTP: nothing is read or written, and nobody else notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.support.attack_ground import CONFIDENTIAL, AttackGround
from tests.support.cross_section import cross_section
from tests.support.processes import command_line, list_processes, memory_bytes
from tests.support.service import await_snapshot, service_of, serving
from tests.support.sql_attacks import attacks
from tests.support.sql_bombs import BOMBS
from tests.support.tiny_dumps import tiny_incoming
from tests.support.waiting import repeating, until
from tracehouse.warehouse.opening.snapshots import find_snapshots

ATTACKS = attacks()
MEMORY = 256 << 20
DEADLINE = 1.0
PATIENCE = 20.0  # of these tests with a machine that does other things, too


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> AttackGround:
    return AttackGround(tmp_path_factory.mktemp("ground"))


@pytest.fixture(scope="module")
def client(ground: AttackGround) -> Iterator[TestClient]:
    """A client of a service that has a store of one dump, its snapshot, and a secret beside it."""
    with serving(ground.store, sql_seconds=DEADLINE, sql_bytes=MEMORY) as client:
        await_snapshot(client)
        yield client


def ask(client: TestClient, text: str) -> httpx2.Response:
    answer: httpx2.Response = client.post(
        "/v1/sql", content=text.encode(), headers={"Content-Type": "text/plain"}
    )
    return answer


def await_the_dump(client: TestClient) -> None:
    """Wait until the service answers with the one dump; a busy machine needs several requests."""
    until(lambda: ask(client, "SELECT count(*) AS n FROM dumps").json() == [{"n": 1}])


@pytest.mark.parametrize(
    ("name", "place"), cross_section(product(list(ATTACKS)[::5], ("store", "snapshot")), 9)
)
def test_attacks_are_refused_and_change_nothing(
    client: TestClient, ground: AttackGround, name: str, place: str
) -> None:
    database = None if place == "store" else find_snapshots(ground.store)[-1].path
    before = ground.files()
    answer = ask(client, ground.fill_in(ATTACKS[name], database))
    assert ground.files() == before
    assert (answer.status_code, answer.json()["reason"]) == (400, "statement"), answer.text
    assert CONFIDENTIAL not in answer.text
    await_the_dump(client)


@pytest.mark.parametrize("name", cross_section(BOMBS, 30))
def test_bombs_end_in_time_and_memory(client: TestClient, ground: AttackGround, name: str) -> None:
    ask(client, "SELECT 1")  # by a worker that is there, then
    before = ground.files()
    with watched_workers() as peaks:
        start = time.monotonic()
        answer = ask(client, BOMBS[name])
        seconds = time.monotonic() - start
    assert ground.files() == before
    assert answer.status_code in {200, 400, 413, 422, 504}, answer.text
    assert seconds < DEADLINE + PATIENCE
    assert max(peaks, default=0) < MEMORY + (256 << 20)
    await_the_dump(client)


@pytest.mark.slow
def test_other_requests_are_answered_while_bombs_occupy_every_worker(tmp_path: Path) -> None:
    with serving(tmp_path / "store", sql_seconds=5, sql_bytes=MEMORY) as client:
        service, statuses = service_of(client), []
        while ask(client, "SELECT 1").status_code == 503:
            threading.Event().wait(0.05)

        def bomb(name: str) -> None:
            statuses.append(ask(client, BOMBS[name]).status_code)

        names = ("time_levenshtein", "memory_lpad")
        threads = [threading.Thread(target=bomb, args=[name]) for name in names]
        for thread in threads:
            thread.start()
        service.inbox.accept(tiny_incoming(1))
        service.consumer.count_accepted()
        while not client.get("/v1/queries/dumps").json():
            threading.Event().wait(0.05)
        n_ended = len(statuses)
        for thread in threads:
            thread.join()
    assert n_ended < len(names)  # when the dump was in, and told of
    assert set(statuses) <= {422, 504}


@contextmanager
def watched_workers() -> Iterator[list[int]]:
    """Memory that children of this process have, in bytes, as often as it can be looked at."""
    peaks: list[int] = []

    def look() -> None:
        workers = (p.pid for p in list_processes() if "sandbox.worker" in command_line(p.pid))
        peaks.extend(memory_bytes(pid, "VmHWM") for pid in workers)

    with repeating(look, 0.02):
        yield peaks
