"""A disk that fails fails the command with the cause in one line, and no dump is blamed for it."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from tests.support.cross_section import cross_section
from tests.support.disk_shim import COMPILER, Fault, build_shim
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import build_etrecord
from tests.support.failing_disk import run_on_failing_disk
from tests.support.stores import ingest, make_and_ingest, write
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from warehouse import Inbox, Warehouse

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
    result = run_on_failing_disk(library, "drain", "--store", store, fault=fault)
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
    times = {"name": "native_call_x.out", "instruction_id": 0, "chain_index": 0}
    event = {"profile_event": {**times, "start_time": 1, "end_time": 5}}
    run = {"name": "Execute", "events": [event] * 1000}
    size = len(build_etdump({"run_data": [run]}))
    dump = write(
        store.parent / "large.etdp", build_etdump({"run_data": [run] * ((66 << 20) // size)})
    )
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
