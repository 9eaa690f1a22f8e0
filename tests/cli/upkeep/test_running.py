"""Upkeep commands on a store, beside its service and over HTTP: the same rows, notes and exits."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from tests.support.command import Outcome, Run
from tests.support.service_process import ServiceProcess
from tests.support.stores import MANIFEST, everything, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import new_dump, send, sha256_of
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.warehouse.inbox.inbox import find_service

_FIRST = sha256_of(tiny_dump(0))
# In this order; each changes what the next ones find.
COMMANDS = [
    ("store", "amend", "--where", "build=b1", "--set", "device.os=New"),
    ("store", "amend", "--where", "build=b1", "--set", "device.os=New", "--yes"),
    ("store", "amend", "--where", "build=none", "--set", "device.os=New"),
    ("store", "amend", "--where", "build=b1", "--set", "none=1"),
    ("store", "verify", "--all"),
    ("accept", "none", "--reason", "r"),
    ("store", "forget", "--dump", _FIRST[:8]),
    ("store", "forget", "--dump", _FIRST[:8], "--yes"),
    ("store", "forget", "--dump", _FIRST[:8], "--yes"),
    (
        "store",
        "forget",
    ),
    ("store", "retention", "--raw-days", "0"),
    ("store", "retention", "--raw-days", "0", "--yes"),
    ("store", "retention", "--raw-days", "0", "--lake", "none"),
    (
        "store",
        "compact",
    ),
    (
        "store",
        "compact",
    ),
]


def stored_hashes(store: Path) -> set[str]:
    with Warehouse.open(store, read_only=True) as warehouse:
        return set(warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist())


class Side(NamedTuple):
    """A store, and the arguments that name it or its service."""

    store: Path
    args: tuple[str, ...]

    def do(self, run: Run, command: tuple[str, ...]) -> Outcome:
        form = () if command[0] == "accept" else ("--format", "json")
        return run(*command, *form, *self.args)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for number in range(4):
        facts = {**MANIFEST, "build": f"b{number % 2}"}
        ingest(
            folder / "store", write(folder / f"{number}.etdp", tiny_dump(number)), manifest=facts
        )
    return folder / "store"


@pytest.fixture(params=["beside", "url"])
def there(made: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Side]:
    store = Path(shutil.copytree(made, tmp_path / "there"))
    token = tmp_path / "token"
    token.write_text(create_token(store, "nightly", scopes=[Scope.UPKEEP]))
    with ServiceProcess(store, free_bytes=0) as service:
        by_url = ("--url", service.url, "--token-file", str(token))
        is_beside = request.param == "beside"
        yield Side(store, ("--store", str(store)) if is_beside else by_url)
        service.signal(signal.SIGTERM)
        assert service.wait() == 0


@pytest.mark.slow
def test_outputs_and_exits_are_those_of_the_command_on_the_store(
    run: Run, made: Path, there: Side, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(made, tmp_path / "here"))
    here = Side(store, ("--store", str(store)))
    for command in COMMANDS:
        wanted, found = here.do(run, command), there.do(run, command)
        assert (found.code, found.text) == (wanted.code, wanted.text), (command, found.err)
        assert found.err.replace("there", "here") == wanted.err, command
    snapshot = there.do(
        run,
        (
            "store",
            "snapshot",
        ),
    )
    assert snapshot.code == 0
    assert f'"path": "{there.store}/snapshots/' in snapshot.text
    assert stored_hashes(there.store) == stored_hashes(here.store)


@pytest.mark.slow
def test_a_decision_beside_a_service_is_that_of_the_command(
    run: Run, nightly_store: Path, tmp_path: Path
) -> None:
    here, there = (
        Path(shutil.copytree(nightly_store, tmp_path / name)) for name in ("here", "there")
    )
    command = ("accept", "--device", "*", "--reason", "so be it", "--acknowledge", "--store")
    wanted = run(*command, here)
    with ServiceProcess(there, free_bytes=0) as service:
        found = run(*command, there)
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    assert (found.code, found.err) == (wanted.code, wanted.err) != (0, "")
    text = "SELECT group_id, state, reason, decided_by FROM group_decisions ORDER BY ALL"
    form = ("--format", "csv", "--store")
    decided = run("sql", text, *form, here).text
    assert run("sql", text, *form, there).text == decided
    assert decided.count("acknowledged,so be it") == wanted.err.count(": acknowledged") > 0


@pytest.mark.slow
def test_a_service_does_not_rebuild_its_store_and_has_settings_of_its_own(
    run: Run, there: Side
) -> None:
    whole = run("store", "rebuild", *there.args)
    assert whole.code in (1, 2)
    assert "works with a local store only" in whole.error or "stop it" in whole.error
    other = run("accept", "g", "--reason", "r", "--config", "none.toml", *there.args)
    assert (other.code, "a service uses its own settings" in other.err) == (2, True)


@pytest.mark.slow
def test_uploads_survive_upkeep_and_a_killed_service(run: Run, made: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(made, tmp_path / "s"))
    sent: list[bytes] = []
    with ServiceProcess(store, free_bytes=0, batch_seconds=0.05) as service:
        is_over = threading.Event()

        def upload() -> None:
            with httpx2.Client(base_url=service.url) as client:
                while not is_over.is_set():
                    dump = new_dump()
                    try:
                        answer = send(client, dump)
                    except httpx2.HTTPError:
                        return
                    assert answer.status_code == 201
                    sent.append(dump)

        uploading = threading.Thread(target=upload)
        uploading.start()
        for command in COMMANDS:
            assert Side(store, ("--store", str(store))).do(run, command).code in (0, 1, 2)
        count = len(sent)
        until(lambda: len(sent) > count)
        compacting = threading.Thread(target=run, args=("store", "compact", "--store", store))
        compacting.start()
        until(lambda: (store / "warehouse.duckdb.new").exists() or not compacting.is_alive())
        service.kill()
        is_over.set()
        uploading.join()
        compacting.join()
    assert find_service(store) is None
    with Warehouse.open(store) as warehouse:
        warehouse.drain()
    assert {sha256_of(dump) for dump in sent} <= stored_hashes(store)
    whole = everything(store)
    assert run("store", "rebuild", "--store", store).code == 0
    assert everything(store) == whole


def test_an_ingest_beside_a_service_is_in_a_snapshot_at_its_end_if_that_is_wanted(
    run: Run, made: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(made, tmp_path / "store"))
    dump = write(tmp_path / "new.etdp", new_dump())
    names = [part for name, value in MANIFEST.items() for part in (f"--{name}", value)]
    with ServiceProcess(store, free_bytes=0, batch_seconds=3600, snapshot_seconds=3600) as service:
        until(lambda: httpx2.get(f"{service.url}readyz").status_code == 200)
        done = run("ingest", dump, *names, "--snapshot", "--store", store)
        assert (done.code, "handed 1 dumps over" in done.err) == (0, True)
        assert sha256_of(dump.read_bytes()) in stored_hashes(store)
