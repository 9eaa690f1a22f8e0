"""A disk that fails fails the command with the cause in one line, and no dump is blamed for it."""

from __future__ import annotations

import errno
import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, Response

from tests.support.command import COMMAND, ENVIRONMENT
from tests.support.corpus import read_dump
from tests.support.cross_section import cross_section
from tests.support.disk_shim import ALWAYS, COMPILER, Fault, FaultControl, build_shim
from tests.support.etrecord_builder import build_etrecord
from tests.support.failing_disk import run_on_failing_disk
from tests.support.service_process import ServiceProcess
from tests.support.stores import ingest, make_and_ingest, write
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tests.support.uploads import new_dump, send, sha256_of
from tests.support.waiting import until
from tests.tools.simulation.dump_template import repeat_runs
from tracehouse import Inbox, Warehouse

pytestmark = pytest.mark.skipif(
    not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER}) to build what makes disks fail"
)
FAULTS = [
    ("open", 1, errno.EIO),
    ("rename", 1, errno.ENOSPC),
    ("write", 12, errno.EIO),
    ("sync", 1, errno.EIO),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("library"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(tmp_path / "store", write(tmp_path / "first.etdp", tiny_dump(0)))
    return tmp_path / "store"


def assert_fails_in_one_line(result: object, *causes: str) -> None:
    code, out, err = (getattr(result, name) for name in ("returncode", "stdout", "stderr"))
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert any(cause in err for cause in causes)


def counts(store: Path) -> tuple[int, int]:
    """Dumps, and files on record as refused."""
    with Warehouse.open(store, read_only=True) as warehouse:
        text = "SELECT count(*) AS n, (SELECT count(*) FROM ingest_errors) AS r FROM dumps"
        (row,) = warehouse.sql(text).to_pylist()
    return row["n"], row["r"]


@pytest.mark.parametrize(("kind", "count", "error"), cross_section(FAULTS, 4))
def test_ingest_fails_where_a_segment_cannot_be_written(
    store: Path, library: Path, kind: str, count: int, error: int
) -> None:
    dump = write(store.parent / "second.etdp", tiny_dump(1))
    names = ("--device", "pixel8", "--build", "b1", "--model", "mv2")
    fault = Fault(kind, "*/archive/*", count, error=error)
    result = run_on_failing_disk(library, "ingest", dump, "--store", store, *names, fault=fault)
    assert_fails_in_one_line(result, "Input/output error", "No space left on device")
    assert counts(store) == (1, 0)
    assert make_and_ingest(store, dump).n_dumps == 1


@pytest.mark.parametrize(("kind", "count", "error"), cross_section(FAULTS, 4))
def test_drain_fails_where_a_segment_cannot_be_written(
    store: Path, library: Path, kind: str, count: int, error: int
) -> None:
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
    fault = Fault(kind, "*/archive/*", count, error=error)
    result = run_on_failing_disk(library, "store", "drain", "--store", store, fault=fault)
    assert_fails_in_one_line(result, "Input/output error", "No space left on device")
    assert counts(store) == (1, 0)
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1


@pytest.mark.parametrize(
    ("kind", "count"), cross_section([("sync", 1), ("open", 2), ("write", 1), ("sync", 2)], 4)
)
def test_ingest_fails_where_the_stores_file_cannot_be_written(
    store: Path, library: Path, kind: str, count: int
) -> None:
    """With an ETRecord, which the repetition brings in as well."""
    dump = write(store.parent / "second.etdp", tiny_dump(1))
    write(store.parent / "second.etrecord", build_etrecord())
    names = ("--device", "pixel8", "--build", "b1", "--model", "mv2")
    result = run_on_failing_disk(
        library, "ingest", dump, "--store", store, *names,
        fault=Fault(kind, "*warehouse.duckdb*", count),
    )  # fmt: skip
    assert_fails_in_one_line(result, "Input/output error", "fsync failed")
    make_and_ingest(store, dump)
    assert counts(store) == (2, 0)
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.sql("SELECT count(etrecord_id) AS n FROM dumps")["n"].to_pylist() == [1]


@pytest.mark.slow
def test_ingest_of_a_large_dump_fails_with_the_cause(store: Path, library: Path) -> None:
    """Whose rows are written before they are committed."""
    one = read_dump("real/mixed_xnnpack_n20")
    dump = write(store.parent / "large.etdp", repeat_runs(one, (68 << 20) // len(one)))
    names = ("--device", "pixel8", "--build", "b1", "--model", "mv2")
    result = run_on_failing_disk(
        library, "ingest", dump, "--store", store, *names,
        fault=Fault("write", "*warehouse.duckdb*"),
    )  # fmt: skip
    assert_fails_in_one_line(result, "Input/output error")
    assert counts(store) == (1, 0)


@pytest.mark.parametrize(
    ("kind", "count"), cross_section([("write", 9), ("open", 3), ("rename", 3)], 3)
)
def test_export_of_a_lake_fails_where_it_cannot_be_written(
    store: Path, library: Path, kind: str, count: int
) -> None:
    result = run_on_failing_disk(
        library, "export", "lake", store.parent / "lake", "--store", store,
        fault=Fault(kind, "*/lake/*", count),
    )  # fmt: skip
    assert_fails_in_one_line(result, "Input/output error")


SERVICE_FAULTS = {
    "sync of the inbox": Fault("sync", "*/inbox/*.log"),
    "full disk under the inbox": Fault("space", "*/inbox*", times=ALWAYS, error=errno.ENOSPC),
    "sync of a segment": Fault("sync", "*/archive/*"),
    "sync of the archive": Fault("sync", "*/archive"),
    "full disk under the archive": Fault("space", "*/archive*", times=ALWAYS, error=errno.ENOSPC),
    "sync of DuckDB's log": Fault("sync", "*.duckdb.wal"),
    "write of DuckDB's log": Fault("write", "*.duckdb.wal"),
    "sync of DuckDB's file": Fault("sync", "*/warehouse.duckdb"),
    "write of DuckDB's file": Fault("write", "*/warehouse.duckdb", times=3),
    "full disk under DuckDB": Fault("space", "*.duckdb*", times=ALWAYS, error=errno.ENOSPC),
    "snapshots": Fault("space", "*/snapshots/*", times=ALWAYS, error=errno.ENOSPC),
    "full disk": Fault("space", "*/store/*", times=ALWAYS, error=errno.ENOSPC),
}


@pytest.mark.parametrize("name", cross_section(SERVICE_FAULTS, 6))
def test_a_service_survives_a_disk_that_fails_for_a_while(
    tmp_path: Path, library: Path, name: str
) -> None:
    control, acknowledged = FaultControl(tmp_path / "fault"), set[str]()
    environment = {**control.environment, "LD_PRELOAD": str(library)}
    settings = {"batch_seconds": 0.1, "snapshot_seconds": 0.1}
    with (
        ServiceProcess(
            tmp_path / "store", environment, log=tmp_path / "said", **settings
        ) as service,
        Client(base_url=service.url) as client,
    ):

        def upload() -> bool:
            answer = send(client, dump := new_dump())
            if answer.is_success:
                acknowledged.add(sha256_of(dump))
            else:
                assert answer.status_code in {503, 507}
                assert re.search("No space left|Input/output|disk is full", answer.text)
            return answer.is_success

        until(upload)
        control.begin(SERVICE_FAULTS[name])
        until(lambda: [upload()] and control.has_failed())
        for _ in range(5):
            upload()
            time.sleep(0.2)
        control.end()
        until(upload)
        until(lambda: client.get("/readyz").status_code == 200)
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    with Warehouse.open(tmp_path / "store") as warehouse:
        warehouse.drain()
        stored = warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist()
    assert acknowledged <= set(stored)
    said = (tmp_path / "said").read_text()
    assert "Traceback" not in said
    reports = [line for line in said.splitlines() if str(tmp_path / "store") in line][1:]
    again = f"{tmp_path / 'store'}: works again"
    problems = [line for line in reports if line != again]
    assert all("; " in line for line in problems)
    assert len(problems) == len(set(problems)) or "inbox" in name


FULL = Fault("space", "*/store/*", times=ALWAYS, error=errno.ENOSPC)
TASKS: dict[str, Any] = {
    "note": {"text": "new driver", "on": {"build": "b1"}},
    "retention": {"raw_days": 0, "yes": True},
    "compact": {},
    "amend": {"where": {"build": "b1"}, "set": ["build=b2"], "yes": True},
    "snapshot": {},
    "verify": {"share": 1.0},
    "forget": {"dump": sha256_of(tiny_dump(0)), "yes": True},
}


@contextmanager
def serving_with_faults(
    store: Path, library: Path, **settings: object
) -> Iterator[tuple[ServiceProcess, Client, FaultControl]]:
    """A service whose disk fails as the control says, and a client of it."""
    control = FaultControl(store.with_name("fault"))
    environment = {**control.environment, "LD_PRELOAD": str(library)}
    log = store.with_name("said")
    with (
        ServiceProcess(store, environment, log=log, batch_seconds=0.1, **settings) as service,
        Client(base_url=service.url) as client,
    ):
        yield service, client, control


def do(client: Client, task: str) -> Response:
    return client.post(f"/v1/upkeep/{task}", json=TASKS[task], timeout=60)


def test_every_task_on_a_full_disk_says_so_and_is_done_when_there_is_room(
    store: Path, library: Path
) -> None:
    ingest(store, write(store.parent / "second.etdp", tiny_dump(1)))
    with serving_with_faults(store, library) as (service, client, control):
        until(lambda: client.get("/readyz").status_code == 200)
        control.begin(FULL)
        for task in TASKS:
            answer = do(client, task)
            assert (task, answer.status_code) == (task, 507)
            assert (answer.json()["reason"], answer.headers["Retry-After"]) == ("disk_full", "30")
            assert "the disk is full" in answer.json()["detail"]
            assert "free some space" in answer.json()["detail"]
            assert client.get("/v1/queries/dumps").status_code == 200
        control.end()
        until(lambda: client.get("/readyz").status_code == 200)
        assert [do(client, task).status_code for task in TASKS] == [200] * len(TASKS)
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    assert counts(store) == (1, 0)
    lines = (store / "audit.jsonl").read_text().splitlines()
    assert len(lines) == 2 * len(TASKS) == len([json.loads(line) for line in lines])
    assert "Traceback" not in store.with_name("said").read_text()


def test_a_compaction_without_room_for_the_archive_leaves_a_store_that_is_usable(
    store: Path, library: Path
) -> None:
    ingest(store, write(store.parent / "second.etdp", tiny_dump(1)))
    with serving_with_faults(store, library) as (_, client, control):
        assert do(client, "forget").status_code == 200
        ingest_more(client, 3)
        (store / "uncompacted").touch()  # the copy replaces the file though it is not smaller
        control.begin(FULL._replace(pattern="*/archive/*"))
        assert do(client, "compact").status_code == 507
        assert do(client, "snapshot").status_code == 200
        assert do(client, "retention").status_code == 507
        control.end()
        assert do(client, "compact").status_code == do(client, "retention").status_code == 200


def ingest_more(client: Client, count: int) -> None:
    """Upload dumps one after the other, each into a segment of its own."""
    for _ in range(count):
        dump = new_dump()
        assert send(client, dump).status_code == 201
        until(lambda dump=dump: state_of(client, dump) == "indexed")


def state_of(client: Client, dump: bytes) -> str:
    return str(client.get(f"/v1/dumps/{sha256_of(dump)}").json()["state"])


def test_a_service_starts_on_a_full_disk_and_writes_when_there_is_room(
    store: Path, library: Path
) -> None:
    with serving_with_faults(store, library) as (service, client, _):
        ingest_more(client, 1)
        waiting = new_dump()
        assert send(client, waiting).status_code == 201
        service.kill()
    FaultControl(store.with_name("fault")).begin(FULL)
    with serving_with_faults(store, library) as (service, client, control):
        until(lambda: client.get("/healthz").json()["status"] == "stores nothing")
        assert client.get("/readyz").status_code == 503
        assert "the disk is full" in client.get("/v1/status").json()[0]["service_problem"]
        assert "Nothing new is stored at the moment." in client.get("/").text
        asked = subprocess.run(
            [*COMMAND, "--url", service.url, "status"],
            env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (asked.returncode, "the disk is full" in asked.stderr) == (1, True)
        assert len(client.get("/v1/queries/dumps").json()) >= 2
        assert send(client, new_dump()).status_code == 507
        control.end()
        until(lambda: client.get("/healthz").json() == {"status": "ok"})
        until(lambda: state_of(client, waiting) == "indexed")
        assert "Nothing new is stored" not in client.get("/").text
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    said = store.with_name("said").read_text()
    assert f"{store}: the disk is full (" in said
    assert f"{store}: works again" in said
    assert counts(store) == (3, 0)
