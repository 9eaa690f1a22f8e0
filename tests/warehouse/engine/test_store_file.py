"""A store's file is made whole or not at all, by one writer, and stays the one that was opened."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import threading
import time
from pathlib import Path

import duckdb
import pytest

from tests.support.corpus import CORPUS
from tests.support.full_disk import full_disk
from tests.support.store_template import copy_new_store
from tests.support.stores import MANIFEST, make_and_ingest, open_now
from tests.support.syncs import note_synced
from tracehouse import Warehouse
from tracehouse.warehouse.engine.store_file import (
    FILE_NAME,
    check_room,
    check_room_to_checkpoint,
    log_of,
    make_file,
)
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    FullDiskError,
    StoreError,
    StoreLockedError,
)

DUMP = CORPUS / "real" / "mlp_xnnpack_n1.etdp"
WHOLE = ["lock", FILE_NAME, f"{FILE_NAME}.seal"]
HEADER = b"\x00" * 8 + b"DUCK" + b"\x00" * 4084


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("start", [b"", HEADER * 2, HEADER[:100], bytes(9000)], ids=len)
def test_a_file_torn_while_it_was_made_is_replaced(tmp_path: Path, start: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(start)
    with pytest.raises(StoreError, match="no store here"):
        Warehouse.open(tmp_path, read_only=True).schema()
    Warehouse.open_to_write(tmp_path, create=True).close()
    Warehouse.open(tmp_path, read_only=True).close()


def test_a_file_that_cannot_be_completed_leaves_nothing(store: Path) -> None:
    def build(file: Path) -> None:
        file.write_bytes(b"half")
        raise duckdb.IOException("No space left on device")

    before = sorted(path.name for path in store.iterdir())
    with pytest.raises(duckdb.IOException):
        make_file(store, build, is_shared=False)
    assert sorted(path.name for path in store.iterdir()) == before


def test_room_is_checked_in_bytes(tmp_path: Path) -> None:
    with full_disk():
        check_room(tmp_path, 0)
        with pytest.raises(FullDiskError, match=r"\(1,000 bytes are needed, and 0 are free\)"):
            check_room(tmp_path, 1000)


def test_only_a_log_needs_room_for_a_checkpoint(store: Path) -> None:
    with full_disk():
        check_room_to_checkpoint(store)
        log_of(store / FILE_NAME).write_bytes(bytes(1000))
        with pytest.raises(FullDiskError, match="4,194,304 bytes are needed"):
            check_room_to_checkpoint(store)
        with pytest.raises(FullDiskError, match="4,195,304 bytes are needed"):
            check_room_to_checkpoint(store, is_certain=True)


@pytest.mark.parametrize("other", [b"hello", b"important" * 100])
def test_a_short_file_of_something_else_is_left_alone(tmp_path: Path, other: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(other)
    with pytest.raises(StoreError, match="not a tracehouse store"):
        Warehouse.open_to_write(tmp_path, create=True)
    assert (tmp_path / FILE_NAME).read_bytes() == other


def test_a_torn_file_beside_a_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(HEADER)
    (tmp_path / f"{FILE_NAME}.wal").write_bytes(b"committed")
    with pytest.raises(StoreError, match="is truncated, and has a write-ahead log"):
        Warehouse.open_to_write(tmp_path, create=True)
    (tmp_path / "archive").mkdir()
    with pytest.raises(DamagedStoreError, match=r"is truncated; .*'tracehouse store rebuild'"):
        Warehouse.open_to_write(tmp_path, create=True)
    assert (tmp_path / f"{FILE_NAME}.wal").read_bytes() == b"committed"


def test_the_directories_of_a_new_store_are_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "some" / "where" / "store"
    synced = note_synced(monkeypatch)
    Warehouse.open_to_write(store, create=True).close()
    folders = (store, *store.parents[:3])
    assert folders[-1] == tmp_path
    assert synced.issuperset(folder.stat().st_ino for folder in folders)


@pytest.mark.parametrize("has_store_file", [False, True])
def test_files_left_by_an_interrupted_creation_or_rebuild_are_deleted(
    tmp_path: Path, has_store_file: bool
) -> None:
    if has_store_file:
        copy_new_store(tmp_path)
    (tmp_path / f"{FILE_NAME}.new").write_bytes(b"half")
    (tmp_path / f"{FILE_NAME}.new.wal").write_bytes(b"half")
    Warehouse.open_to_write(tmp_path, create=True).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == WHOLE


def test_one_process_has_one_writer(store: Path) -> None:
    with Warehouse.open_to_write(store):
        for read_only in (False, True):
            with pytest.raises(StoreLockedError, match=f"process {os.getpid()}") as caught:
                open_now(store, read_only=read_only)
            assert caught.value.pid == os.getpid()
    with (
        Warehouse.open(store, read_only=True),
        Warehouse.open(store, read_only=True),
        pytest.raises(StoreLockedError),
    ):
        Warehouse.open_to_write(store)


def test_a_waiting_writer_gets_the_store_when_the_other_closes_it(store: Path) -> None:
    first = Warehouse.open_to_write(store)
    threading.Timer(0.1, first.close).start()
    with Warehouse.open_to_write(store, wait=60):
        start = time.monotonic()
        with pytest.raises(StoreLockedError):
            Warehouse.open_to_write(store, wait=0.2)
        assert time.monotonic() - start >= 0.2


def test_a_failed_opening_releases_the_store(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"important" * 10000)
    for read_only in (True, False, True):
        with pytest.raises(StoreError, match="not a tracehouse store"):
            open_now(tmp_path, read_only=read_only)


def test_a_file_system_without_locks_is_refused(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int, _kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"no locks \(No locks available\).*local disk"):
            open_now(store, read_only=read_only)


@pytest.mark.slow
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_store_that_is_deleted_or_replaced_while_it_is_written_is_an_error(
    store: Path, is_replaced: bool
) -> None:
    warehouse = Warehouse.open_to_write(store)
    copy = shutil.copy(store / FILE_NAME, store / "copy")
    (store / FILE_NAME).unlink()
    if is_replaced:
        Path(copy).rename(store / FILE_NAME)
    with pytest.raises(StoreError, match="deleted or replaced while it was open"):
        warehouse.ingest([DUMP], manifest=MANIFEST)
    with pytest.raises(StoreError, match="deleted or replaced while it was open"):
        warehouse.close()


@pytest.mark.usefixtures("new_stores_are_built")
@pytest.mark.parametrize(
    ("is_shared", "umask", "folder", "file"),
    [
        (False, 0o022, 0o700, 0o600),
        (False, 0o277, 0o500, 0o400),
        (True, 0o027, 0o750, 0o640),
    ],
)
def test_a_store_is_its_owners_unless_it_is_shared(
    tmp_path: Path, is_shared: bool, umask: int, folder: int, file: int
) -> None:
    before = os.umask(umask)
    try:
        if os.geteuid() and not folder & 0o200:
            pytest.skip("a umask that shuts out the owner stops everyone but root")
        Warehouse.open_to_write(tmp_path / "store", is_shared=is_shared, create=True).close()
    finally:
        os.umask(before)
    assert mode(tmp_path / "store") == folder
    assert {mode(path) for path in (tmp_path / "store").iterdir()} == {file}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["md:x", "postgres:x", "sqlite:x", "a'b; --", "s3:x"])
def test_the_name_of_a_store_is_the_name_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_and_ingest(Path(name), DUMP)
    assert (tmp_path / name / FILE_NAME).is_file()
    with Warehouse.open(name, read_only=True) as warehouse:
        assert warehouse.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist() == [1]


def test_a_log_that_was_brought_into_the_file_is_gone_from_disk(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = note_synced(monkeypatch)
    Warehouse.open_to_write(store).close()
    assert store.stat().st_ino in synced
