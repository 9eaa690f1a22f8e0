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

from tests.support.corpus import read_dump
from tests.support.cross_section import cross_section
from tests.support.service import await_snapshot, service_of, serving
from tests.support.sql_attacks import attacks
from tests.support.sql_bombs import BOMBS
from tests.support.stores import ingest, write
from tests.support.tiny_dumps import tiny_incoming
from warehouse.engine.store_file import FILE_NAME
from warehouse.opening.snapshots import find_snapshots

CONFIDENTIAL = "the secret of this machine"
ATTACKS = attacks()
MEMORY = 256 << 20
DEADLINE = 1.0
PATIENCE = 20.0  # of these tests with a machine that does other things, too


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a service that has a store of one dump, its snapshot, and a secret beside it."""
    ground = tmp_path_factory.mktemp("ground")
    write(ground / "secret.txt", CONFIDENTIAL.encode())
    store = ground / "store"
    ingest(store, write(ground / "in/a.etdp", read_dump("real/mlp_xnnpack_n1")))
    with serving(store, sql_seconds=DEADLINE, sql_bytes=MEMORY) as client:
        await_snapshot(client)
        yield client


def ask(client: TestClient, text: str) -> httpx2.Response:
    answer: httpx2.Response = client.post(
        "/v1/sql", content=text.encode(), headers={"Content-Type": "text/plain"}
    )
    return answer


def fill_in(attack: str, ground: Path, database: Path) -> str:
    for mark, place in (
        ("{database}", database),
        ("{folder}", ground),
        ("{secret}", ground / "secret.txt"),
    ):
        attack = attack.replace(mark, str(place))
    return attack


@contextmanager
def nothing_changes(ground: Path) -> Iterator[None]:
    """But what the service itself puts down of who asked what."""

    def everything() -> dict[str, bytes]:
        files = (path for path in ground.rglob("*") if path.is_file())
        return {
            str(path): path.read_bytes() for path in files if not path.name.startswith("audit.")
        }

    before = everything()
    yield
    assert everything() == before


@pytest.mark.parametrize(
    ("name", "place"), cross_section(product(list(ATTACKS)[::5], ("store", "snapshot")), 9)
)
def test_attacks_are_refused_and_change_nothing(client: TestClient, name: str, place: str) -> None:
    store = service_of(client).store
    database = store / FILE_NAME if place == "store" else find_snapshots(store)[-1].path
    with nothing_changes(store.parent):
        answer = ask(client, fill_in(ATTACKS[name], store.parent, database))
    assert (answer.status_code, answer.json()["reason"]) == (400, "statement"), answer.text
    assert CONFIDENTIAL not in answer.text
    assert ask(client, "SELECT count(*) AS n FROM dumps").json() == [{"n": 1}]


@pytest.mark.parametrize("name", cross_section(BOMBS, 30))
def test_bombs_end_in_time_and_memory(client: TestClient, name: str) -> None:
    store = service_of(client).store
    ask(client, "SELECT 1")  # by a worker that is there, then
    with nothing_changes(store.parent), watched_workers() as peaks:
        start = time.monotonic()
        answer = ask(client, BOMBS[name])
        seconds = time.monotonic() - start
    assert answer.status_code in {200, 400, 413, 422, 504}, answer.text
    assert seconds < DEADLINE + PATIENCE
    assert max(peaks, default=0) < MEMORY + (256 << 20)
    assert ask(client, "SELECT count(*) AS n FROM dumps").json() == [{"n": 1}]


@pytest.mark.slow
def test_others_are_answered_while_bombs_take_every_worker(tmp_path: Path) -> None:
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
        service.consumer.given()
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
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            for status in Path("/proc").glob("[0-9]*/status"):
                peaks.extend(_peak_of_worker(status))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        is_over.set()
        watcher.join()


def _peak_of_worker(status: Path) -> list[int]:
    try:
        command = status.with_name("cmdline").read_bytes()
        facts = dict(line.split(":", 1) for line in status.read_text().splitlines())
    except OSError:  # it has ended
        return []
    if b"warehouse.sandbox.worker" not in command or "VmHWM" not in facts:
        return []
    return [int(facts["VmHWM"].split()[0]) << 10]
