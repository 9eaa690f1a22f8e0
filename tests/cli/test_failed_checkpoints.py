"""Commands and services whose checkpoints fail: they rebuild the store themselves, and say so."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from httpx2 import Client

from tests.support import kills
from tests.support.command import COMMAND, ENVIRONMENT, Outcome
from tests.support.cross_section import cross_section
from tests.support.failing_checkpoints import ALWAYS, CAUSE, WITH_BITPACKING, environment
from tests.support.service_process import ServiceProcess
from tests.support.spoiled_block import OLD_COUNT, compressions, make_packed_store, spoil_segment
from tests.support.stores import contents, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import new_dump, send, sha256_of
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.warehouse.engine.failed_checkpoints import read_failures

NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")
KILLS = ("set aside:1", "set aside:2", "set aside:3", "swap:1", "swapped:1")
REBUILT = f"note: DuckDB's checkpoint failed ({CAUSE}), so {{}} was rebuilt from its archive\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_packed_store(tmp_path_factory.mktemp("made"))


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """A store whose next checkpoint cannot read a block."""
    shutil.copytree(made, tmp_path / "store")
    spoil_segment(tmp_path / "store", "runs", "n_events")
    return tmp_path / "store"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write(tmp_path / "new.etdp", tiny_dump(99))


def run(*args: str | Path, **more: Mapping[str, str]) -> Outcome:
    done = subprocess.run(
        [*COMMAND, *map(str, args)],
        capture_output=True, env=ENVIRONMENT | dict(more.get("environment", {})), check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


def stored(store: Path) -> set[str]:
    with Warehouse.open(store) as warehouse:
        warehouse.drain()
        return set(warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist())


def test_an_ingest_rebuilds_the_store_and_the_status_tells(store: Path, dump: Path) -> None:
    done = run("ingest", dump, "--store", store, *NAMES)
    assert done.code == 0
    assert REBUILT.format(store) in done.err
    (row,) = json.loads(run("status", "--store", store, "--format", "json").out)
    assert (row["problem"], row["dumps"]) == ("", OLD_COUNT + 1)
    assert (row["failed_checkpoints"], row["disabled_compression"]) == (1, "")
    assert row["failed_checkpoint_at"] < row["rebuilt_at"]
    text = run("status", "--store", store).text
    assert "Failed checkpoints" in text
    assert "Rebuilt at" in text
    assert "isabled compression" not in text


@pytest.mark.parametrize("command", cross_section(["drain", "snapshot", "compact", "retention"], 3))
def test_other_store_commands_rebuild_a_store_whose_log_cannot_be_merged(
    store: Path, dump: Path, tmp_path: Path, command: str
) -> None:
    with Warehouse.open(store) as warehouse:
        warehouse.ingest([dump], manifest={"device": "a", "build": "b", "model": "c"})
        killed = shutil.copytree(store, tmp_path / "killed")
    more = ("--raw-days", "0", "--yes") if command == "retention" else ()
    done = run("store", command, "--store", killed, *more)
    assert (done.code, REBUILT.format(killed) in done.err) == (0, True)
    assert sha256_of(dump.read_bytes()) in stored(killed)


@pytest.mark.parametrize("kill", cross_section(KILLS, 4))
def test_a_kill_during_a_rebuild_after_a_failed_checkpoint_loses_nothing(
    store: Path, dump: Path, kill: str
) -> None:
    arguments = ("ingest", dump, "--store", store, *NAMES)
    killed = run(*arguments, environment=kills.environment(kill))
    assert killed.code == -signal.SIGKILL
    assert read_failures(store).failure_count == 1
    done = run(*arguments)
    assert (done.code, REBUILT.format(store) in done.err) == (0, True)
    assert read_failures(store).failure_count == 1
    assert len(stored(store)) == OLD_COUNT + 1


def test_a_service_switches_the_compression_off_and_says_so(tmp_path: Path, dump: Path) -> None:
    store, failing = tmp_path / "store", environment(tmp_path / "site", WITH_BITPACKING)
    ingest(store, old := write(tmp_path / "old.etdp", tiny_dump(0)))
    settings = {"batch_seconds": 0.1, "snapshot_seconds": 0.1}
    log = tmp_path / "said"
    with (
        ServiceProcess(store, failing, log=log, **settings) as service,
        Client(base_url=service.url) as client,
    ):
        sent = [new_dump() for _ in range(5)]
        for one in sent:
            until(lambda one=one: send(client, one).is_success)
        # The first checkpoint, and the one of the first rebuild.
        until(lambda: read_failures(store).failure_count == 2)
        until(lambda: client.get("/healthz").json() == {"status": "ok"})
        until(lambda: all(client.get(f"/v1/dumps/{sha256_of(one)}").is_success for one in sent))
        figures = client.get("/metrics").text
        (status,) = client.get("/v1/status").json()
        assert client.post("/v1/upkeep/compact", json={}, timeout=60).status_code == 200
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    assert "tracehouse_failed_checkpoints_total 2.0" in figures
    assert "tracehouse_compression_disabled 1.0" in figures
    (at,) = [
        float(line.split()[1])
        for line in figures.splitlines()
        if line.startswith("tracehouse_failed_checkpoint_timestamp_seconds ")
    ]
    assert at > 1_700_000_000
    assert (status["failed_checkpoints"], status["disabled_compression"]) == (2, "bitpacking")
    said = log.read_text()
    assert f"{store}: DuckDB's checkpoint failed ({CAUSE})" in said
    assert f"{store}: works again" in said
    assert "Traceback" not in said
    assert run("ingest", dump, "--store", store, *NAMES, environment=failing).code == 0
    assert {sha256_of(one) for one in [*sent, dump.read_bytes(), old.read_bytes()]} == stored(store)
    assert read_failures(store).failure_count == 2
    assert "BitPacking" not in compressions(store, "runs")


def test_a_service_that_cannot_write_at_all_says_why_and_loses_nothing(tmp_path: Path) -> None:
    store, failing = tmp_path / "store", environment(tmp_path / "site", ALWAYS)
    ingest(store, write(tmp_path / "old.etdp", tiny_dump(0)), snapshot=True)
    settings = {"batch_seconds": 0.1, "snapshot_seconds": 0.1}
    acknowledged = set()
    with (
        ServiceProcess(store, failing, log=tmp_path / "said", **settings) as service,
        Client(base_url=service.url) as client,
    ):

        def upload() -> None:
            if send(client, one := new_dump()).is_success:
                acknowledged.add(sha256_of(one))

        until(lambda: [upload()] and read_failures(store).is_hopeless)
        until(lambda: client.get("/healthz").json()["status"] == "stores nothing")
        until(lambda: "install another version" in client.get("/healthz").json().get("problem", ""))
        assert client.get("/readyz").status_code == 503
        assert "install another version" in client.get("/v1/status").json()[0]["service_problem"]
        assert client.get("/v1/queries/dumps").status_code == 200
        service.signal(signal.SIGTERM)
        service.wait()
    assert "Traceback" not in (tmp_path / "said").read_text()
    assert acknowledged
    assert acknowledged <= stored(store)
    assert contents(store)["dumps"]
