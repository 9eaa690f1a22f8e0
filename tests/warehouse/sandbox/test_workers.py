from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pyarrow as pa
import pytest

from tests.support.corpus import read_dump
from tests.support.cross_section import cross_section
from tests.support.stores import ingest, write
from tests.support.tiny_dumps import tiny_incoming
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.engine.sql_functions import FUNCTIONS
from tracehouse.warehouse.errors import CostlyStatementError, StatementError, StoreError
from tracehouse.warehouse.sandbox.bounds import Bounds
from tracehouse.warehouse.sandbox.workers import Sandbox, Stop

BOUNDS = Bounds(seconds=60.0, memory_bytes=256 << 20, answer_rows=1000, answer_bytes=1 << 20)
WORKER_PROGRAM = b"tracehouse.warehouse.sandbox.worker"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one dump, with a snapshot; only for reading."""
    return make_store(tmp_path_factory.mktemp("made"))


def make_store(folder: Path) -> Path:
    dump = write(folder / "a.etdp", read_dump("real/mlp_xnnpack_n1"))
    ingest(folder / "store", dump, snapshot=True)
    return folder / "store"


@pytest.fixture
def sandbox(store: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(store, BOUNDS)
    yield sandbox
    sandbox.close()


def workers(store: Path) -> list[int]:
    """Workers of this process that have opened a snapshot of the store; others have theirs."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread or a child that ends meanwhile
            for child in (task / "children").read_text().split():
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                files = map(os.readlink, Path(f"/proc/{child}/fd").iterdir())
                if WORKER_PROGRAM in line and any(file.startswith(str(store)) for file in files):
                    found.append(int(child))
    return found


@pytest.mark.smoke
def test_a_statement_may_name_its_own_table_like_a_part_of_ours(sandbox: Sandbox) -> None:
    answer = sandbox.answer("WITH token_dumps AS (SELECT 7 AS n) SELECT n FROM token_dumps", None)
    assert answer.table == pa.table({"n": pa.array([7], pa.int32())})
    assert not answer.table.schema.metadata


def test_a_statement_is_answered_as_by_the_store_itself(store: Path, sandbox: Sandbox) -> None:
    text = "SELECT *, now() > TIMESTAMPTZ '2020-01-01' AS a, 1 AS a FROM named_dumps"
    with Warehouse.open(store, read_only=True) as warehouse:
        assert sandbox.answer(text).table == warehouse.sql(text)
    assert sandbox.answer("SELECT $a AS a", {"a": "x"}).table == pa.table({"a": ["x"]})
    assert sandbox.answer("SELECT ? + 1 AS a", [1]).table["a"].to_pylist() == [2]
    assert sandbox.answer("SELECT 1 AS a WHERE false").table.num_rows == 0


def test_every_view_answers_as_in_the_store_itself(tmp_path: Path) -> None:
    bounds = BOUNDS._replace(answer_rows=1_000_000, answer_bytes=1 << 30)
    sandbox = Sandbox(make_store(tmp_path), bounds)
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        for text in (
            *map("FROM {} ORDER BY ALL".format, load_views()),
            "FROM range(100000) AS r(a)",
        ):
            assert sandbox.answer(text).table.equals(warehouse.sql(text).table), text
    sandbox.close()


def test_every_statistic_answers_as_in_the_store_itself(store: Path, sandbox: Sandbox) -> None:
    values = [1.0, 1.1, 1.2, 1.0, 1.1, 1.3, 2.0, 2.1, 2.2, 2.0]
    widths = {"variance_components": 7}
    with Warehouse.open(store, read_only=True) as warehouse:
        for function in FUNCTIONS:
            width = widths.get(function.name, 2)
            arguments = {
                "DOUBLE[]": str(values),
                "BIGINT[]": str([*range(len(values))]),
                "INTEGER": "2",
                "DOUBLE[][]": str([[n, *[n % 2] * (width - 1)] for n in range(20)]),
            }
            call = f"{function.name}({', '.join(arguments[one] for one in function.takes)})"
            text = f"SELECT CAST({call} AS VARCHAR) AS found"
            assert sandbox.answer(text).table.equals(warehouse.sql(text).table), text


def test_a_statement_is_stopped_from_another_thread(store: Path, sandbox: Sandbox) -> None:
    stop = Stop()
    sandbox.answer("SELECT 1")
    (before,) = workers(store)
    Timer(0.1, stop.set).start()
    with pytest.raises(StatementError, match="the statement was stopped"):
        sandbox.answer("SELECT count(*) FROM range(1000000000000)", stop=stop)
    assert sandbox.answer("SELECT 1 AS a").table["a"].to_pylist() == [1]
    assert before not in workers(store)
    assert sandbox.killed == 0


def test_a_statement_that_is_stopped_before_it_begins_does_not_run(sandbox: Sandbox) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(StatementError, match="the statement was stopped"):
        sandbox.answer("SELECT 1", stop=stop)


def test_a_statement_that_has_ended_cannot_be_stopped(store: Path, sandbox: Sandbox) -> None:
    stop = Stop()
    sandbox.answer("SELECT 1", stop=stop)
    before = workers(store)
    stop.set()
    sandbox.answer("SELECT 1")
    assert workers(store) == before


@pytest.mark.slow
def test_a_sandbox_keeps_its_worker_until_there_is_a_newer_snapshot(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    sandbox = Sandbox(store, BOUNDS)
    first = sandbox.answer("SELECT count(*) AS n FROM dumps")
    before = workers(store)
    assert sandbox.answer("SELECT count(*) AS n FROM dumps") == first
    assert workers(store) == before
    with Warehouse.open(store) as warehouse:
        warehouse.ingest([tiny_incoming(1)], snapshot=True)
    second = sandbox.answer("SELECT count(*) AS n FROM dumps")
    assert (first.table["n"][0].as_py(), second.table["n"][0].as_py()) == (1, 2)
    assert second.taken_at >= first.taken_at
    assert len(workers(store)) == 1
    assert workers(store) != before
    sandbox.close()


def test_a_process_waits_for_the_next_snapshot(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    sandbox = Sandbox(store, BOUNDS)
    assert sandbox.answer("SELECT 1 AS a").table.num_rows == 1
    until(lambda: len(sandbox._spares) == 1)
    (spare,) = sandbox._spares
    with Warehouse.open(store) as warehouse:
        warehouse.snapshot()
    assert sandbox.answer("SELECT 1 AS a").table.num_rows == 1
    assert workers(store) == [spare.process.pid]
    sandbox.close()
    assert spare.process.poll() is not None


class TakenByAnother(list[ChildProcess]):
    """A list from which another thread takes the last entry just before this one."""

    def __bool__(self) -> bool:
        return True


def test_several_statements_may_want_the_process_that_waits(store: Path) -> None:
    sandbox = Sandbox(store, BOUNDS)
    sandbox._spares = TakenByAnother()
    assert sandbox.answer("SELECT 1 AS a").table.num_rows == 1
    sandbox.close()


def test_a_worker_has_no_environment_no_files_and_no_more_of_them(
    store: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    opened = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(opened, True)
    sandbox.answer("SELECT 1")
    os.close(opened)
    (worker,) = workers(store)
    assert b"SECRET" not in Path(f"/proc/{worker}/environ").read_bytes()
    files = [os.readlink(path) for path in Path(f"/proc/{worker}/fd").iterdir()]
    assert {file for file in files if file.startswith("/") and file != "/dev/null"} == {
        str(path) for path in (store / "snapshots").glob("*.duckdb")
    }
    limits = {
        name: resource.prlimit(worker, getattr(resource, f"RLIMIT_{name}"))
        for name in ("CORE", "FSIZE", "NOFILE", "DATA")
    }
    assert limits["CORE"] == limits["FSIZE"] == (0, 0)
    assert limits["NOFILE"][1] <= len(files) + 1
    assert 0 < limits["DATA"][0] < 1 << 30
    assert os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, 0)
    # Landlock confines the thread that asks for it, and those that this one starts.
    assert len([*Path(f"/proc/{worker}/task").iterdir()]) == 1


@pytest.mark.parametrize(
    ("text", "bound"),
    cross_section(
        [
            ("SELECT * FROM range(1001)", "answer"),
            ("SELECT repeat('x', 2000000)", "answer"),
            ("SELECT length(printf('%2000000000d', 1))", "memory"),
            ("SELECT list(range) FROM range(1000000000)", "memory"),
            ("SELECT 1 -- " + "x" * (16 << 10), "text"),
        ],
        5,
    ),
    ids=["rows", "bytes", "texts", "lists", "text"],
)
def test_a_statement_beyond_a_limit_is_refused(sandbox: Sandbox, text: str, bound: str) -> None:
    with pytest.raises(CostlyStatementError) as caught:
        sandbox.answer(text)
    assert caught.value.bound == bound
    assert sandbox.answer("SELECT 1 AS a").table.num_rows == 1


@pytest.mark.parametrize(
    ("text", "killed"),
    cross_section(
        [
            ("SELECT count(*) FROM range(1000000000000)", 0),  # is interrupted
            ("SELECT levenshtein(repeat('a', 999999), repeat('b', 999999))", 1),
        ],
        2,
    ),
    ids=["interrupted", "killed"],
)
def test_a_sandboxed_statement_that_takes_too_long_is_ended(
    store: Path, text: str, killed: int
) -> None:
    sandbox = Sandbox(store, BOUNDS._replace(seconds=0.5))
    with pytest.raises(CostlyStatementError, match=r"more than 0\.5 s") as caught:
        sandbox.answer(text)
    assert caught.value.bound == "seconds"
    assert sandbox.killed == killed
    sandbox.close()
    assert workers(store) == []


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(store: Path, sandbox: Sandbox) -> None:
    sandbox.answer("SELECT 1")
    os.kill(workers(store)[0], signal.SIGKILL)
    with pytest.raises(CostlyStatementError):
        sandbox.answer("SELECT 1")
    assert sandbox.answer("SELECT 1 AS a").table.num_rows == 1


def test_the_sandbox_reports_errors_in_the_words_of_the_store(
    store: Path, sandbox: Sandbox
) -> None:
    for text in ("SELECT nothing", "DELETE FROM dumps", "SELECT error('x')", "SELECT 1; SELECT 2"):
        with Warehouse.open(store, read_only=True) as warehouse:
            with pytest.raises(StatementError) as theirs:
                warehouse.sql(text)
            with pytest.raises(StatementError) as ours:
                sandbox.answer(text)
        assert str(ours.value) == str(theirs.value)
    for params in ({"a": 10**40}, {"b": 1}, [1, 2]):
        with pytest.raises(StatementError):
            sandbox.answer("SELECT $a", params)
    with pytest.raises(StatementError, match="not Unicode"):
        sandbox.answer("SELECT '\ud800'")


def test_a_sandbox_without_a_snapshot_refuses_statements(tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "a.etdp", read_dump("real/mlp_xnnpack_n1")))
    with pytest.raises(StoreError, match="no snapshot yet"):
        Sandbox(store, BOUNDS).answer("SELECT 1")


def test_a_damaged_snapshot_is_reported_by_name(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    (snapshot,) = (store / "snapshots").glob("*.duckdb")
    snapshot.chmod(0o600)
    snapshot.write_bytes(b"nothing")
    sandbox = Sandbox(store, BOUNDS)
    with pytest.raises(StoreError, match=snapshot.name):
        sandbox.answer("SELECT 1")
    until(lambda: not workers(store))  # it is ended behind the answer
    sandbox.close()
