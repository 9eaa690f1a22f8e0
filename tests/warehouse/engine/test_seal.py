from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.support.store_template import copy_new_store
from tests.support.stores import open_now
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Warehouse
from tracehouse.warehouse.engine.store_checks import is_sealed, seal_file, seal_of
from tracehouse.warehouse.engine.store_connections import Access, StoreConnections
from tracehouse.warehouse.engine.store_file import FILE_NAME, log_of
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.opening.snapshots import KEPT, find_snapshots

MACRO = "CREATE MACRO median(a) AS 'a lie'"
_LEAVE_A_LOG = "PRAGMA disable_checkpoint_on_shutdown"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("made") / "store"
    copy_new_store(store)
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([tiny_incoming(1)])
    return store


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    """The DuckDB file of a store, sealed here."""
    shutil.copytree(made, tmp_path / "store")
    seal(tmp_path / "store" / FILE_NAME)
    return tmp_path / "store" / FILE_NAME


def is_spared(file: Path) -> bool:
    """Whether a database would be opened without being searched."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return is_sealed(file, descriptor)
    finally:
        os.close(descriptor)


def seal(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    seal_file(file, descriptor)
    os.close(descriptor)


def tamper(file: Path, *statements: str) -> None:
    file.chmod(0o600)
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_sealed_store_is_not_searched(file: Path) -> None:
    tamper(file, MACRO)
    for read_only in (True, False):
        with pytest.raises(StoreError, match="do not trust"):
            open_now(file.parent, read_only=read_only)
    seal(file)
    for read_only in (True, False):
        open_now(file.parent, read_only=read_only).close()


@pytest.mark.parametrize(("is_left_sealed", "count"), [(True, 1), (False, 2)])
def test_a_query_of_a_sealed_store_starts_duckdb_once(
    file: Path, is_left_sealed: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, connect = [], duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: started.append(a) or connect(*a, **k))
    if not is_left_sealed:
        seal_of(file).unlink()
    with Warehouse.open(file.parent, read_only=True) as warehouse:
        warehouse.query("dumps")
        assert len(started) == count
        warehouse.sql("SELECT 1")
        assert len(started) == 2


@pytest.mark.parametrize("first", ["trusted", "untrusted"])
def test_user_statements_reach_no_file_through_a_sealed_store(file: Path, first: Access) -> None:
    answering = StoreConnections(file.parent, file)
    answering.check()
    answering.connection(first)
    connection = answering.connection("untrusted")
    for statement in ("FROM read_text('/etc/hosts')", "COPY (SELECT 1) TO '/dev/null'"):
        with pytest.raises(duckdb.PermissionException, match="LocalFileSystem has been disabled"):
            connection.execute(statement)
    with pytest.raises(duckdb.InvalidInputException, match="has been locked"):
        connection.execute("SET threads = 1")
    answering.close()


def test_only_statements_that_may_spill_keep_to_the_memory_limit(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_MEMORY", "64MiB")
    answering = StoreConnections(file.parent, file)
    answering.check()
    trusts: list[Access] = ["trusted", "untrusted"]
    limits = [
        answering.connection(trust).execute("SELECT current_setting('memory_limit')").fetchone()
        for trust in trusts
    ]
    assert [limit == ("64.0 MiB",) for limit in limits] == [True, False]
    answering.close()


def test_a_store_is_sealed_whenever_a_writer_closes_it(file: Path) -> None:
    assert is_spared(file)
    with Warehouse.open_to_write(file.parent) as warehouse:
        warehouse.ingest([tiny_incoming(2)])
        assert not is_spared(file)
    assert is_spared(file)
    Warehouse.open_to_write(file.parent).close()
    Warehouse.open(file.parent, read_only=True).close()
    assert is_spared(file)


@pytest.mark.parametrize("is_left", [True, False])
def test_tampering_with_a_sealed_store_is_detected(file: Path, is_left: bool) -> None:
    before = file.stat()
    tamper(file, *([_LEAVE_A_LOG] if is_left else []), MACRO)
    assert log_of(file).exists() == is_left
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for read_only in (True, False):
        with pytest.raises(StoreError, match="do not trust"):
            open_now(file.parent, read_only=read_only)


def _copied(file: Path) -> Path:
    folder = shutil.copytree(file.parent, file.parent.with_name("copy"))
    return folder / file.name


def _put_back(file: Path) -> None:
    os.replace(_copied(file), file)


def _touched(file: Path) -> None:
    before = file.stat()
    with file.open("r+b") as target:
        target.write(file.read_bytes()[:1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _piped(file: Path) -> None:
    seal_of(file).unlink()
    os.mkfifo(seal_of(file), mode=0o600)


CHANGES: dict[str, Callable[[Path], object]] = {
    "copied": _copied,
    "put back": _put_back,
    "touched": _touched,
    "logged": lambda file: log_of(file).touch(),
    "writable": lambda file: seal_of(file).chmod(0o620),
    "torn": lambda file: os.truncate(seal_of(file), seal_of(file).stat().st_size - 1),
    "piped": _piped,
    "unsealed": lambda file: seal_of(file).unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_file_or_its_owner_breaks_the_seal(file: Path, change: str) -> None:
    assert is_spared(file)
    changed = CHANGES[change](file)
    assert not is_spared(changed if isinstance(changed, Path) else file)


def test_the_seal_of_another_user_is_not_trusted(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert not is_spared(file)


def test_headers_tell_where_the_time_does_not(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = file.stat()
    with file.open("r+b") as target:
        monkeypatch.setattr(os, "fstat", lambda _: found)  # a file system of whole seconds
        seal_file(file, target.fileno())
        assert is_sealed(file, target.fileno())
        target.write(b"\0")
        target.flush()
        assert not is_sealed(file, target.fileno())


def test_a_store_is_closed_though_it_cannot_be_sealed(file: Path) -> None:
    seal_of(file).unlink()
    seal_of(file).mkdir()
    Warehouse.open_to_write(file.parent).close()
    assert not is_spared(file)
    Warehouse.open(file.parent, read_only=True).close()


def test_snapshots_are_sealed_and_their_seals_go_with_them(file: Path) -> None:
    with Warehouse.open_to_write(file.parent) as warehouse:
        for _ in range(KEPT + 2):
            warehouse.snapshot()
    kept = [snapshot.path for snapshot in find_snapshots(file.parent)]
    assert len(kept) == KEPT
    assert all(map(is_spared, kept))
    assert set(kept[0].parent.iterdir()) == {*kept, *map(seal_of, kept)}
    tamper(kept[-1], MACRO)
    assert not is_spared(kept[-1])


@pytest.mark.system
@pytest.mark.parametrize("read_only", [True, False])
def test_reading_the_seal_keeps_duckdbs_lock(file: Path, read_only: bool) -> None:
    write = f"import duckdb; duckdb.connect({str(file)!r})"
    with open_now(file.parent, read_only=read_only):
        found = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True)
    assert "Could not set lock on file" in found.stderr
