from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import duckdb
import pytest

from tests.support.full_disk import full_disk
from tests.support.stores import MANIFEST, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.engine.store_file import FILE_NAME, log_of
from tracehouse.warehouse.engine.writer import Writer
from tracehouse.warehouse.errors import DamagedStoreError, FullDiskError

_COUNT = "SELECT count(*) AS n FROM dumps"


@pytest.fixture
def killed(store: Path, tmp_path: Path) -> Path:
    """The store of a killed writer, with a commit in DuckDB's log, and one in the archive alone."""
    dumps = [write(tmp_path / f"{number}.etdp", tiny_dump(number)) for number in range(2)]
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest(dumps[0], manifest=MANIFEST)
        left = shutil.copytree(store, tmp_path / "killed", ignore=shutil.ignore_patterns("archive"))
        warehouse.ingest(dumps[1], manifest=MANIFEST)
    shutil.copytree(store / "archive", left / "archive")
    assert log_of(left / FILE_NAME).exists()
    return left


def counted(warehouse: Warehouse) -> int:
    (row,) = warehouse.sql(_COUNT).to_pylist()
    count: int = row["n"]
    return count


def test_a_store_is_opened_without_a_write_and_settled_when_there_is_room(killed: Path) -> None:
    before = {path: path.read_bytes() for path in killed.iterdir() if path.is_file()}
    with full_disk():
        warehouse = Warehouse.open_to_write(killed, is_patient=True)
        with warehouse.reader() as reader:
            assert (counted(warehouse), counted(reader)) == (1, 1)
        with pytest.raises(FullDiskError, match="the disk is full"):
            warehouse.recover(nullcontext())
        assert len(warehouse.stored_dumps().look_up([])) == 0
        assert {path: path.read_bytes() for path in before} == before
    warehouse.recover(nullcontext())
    assert counted(warehouse) == 2
    assert warehouse.snapshot().path.exists()
    warehouse.close()


def test_a_patient_opening_leaves_a_killed_writers_log_alone(killed: Path) -> None:
    log = log_of(killed / FILE_NAME).read_bytes()
    Warehouse.open_to_write(killed, is_patient=True).close()
    assert log_of(killed / FILE_NAME).read_bytes() == log
    with full_disk(), pytest.raises(FullDiskError, match="the disk is full"):
        Warehouse.open_to_write(killed)
    with Warehouse.open_to_write(killed) as warehouse:
        assert counted(warehouse) == 2


def test_a_writer_that_failed_is_opened_again_and_waits_for_room_for_all_of_its_log(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse.open_to_write(killed, is_patient=True)
    # DuckDB refuses all statements after a checkpoint that failed.
    answers = iter([False])
    monkeypatch.setattr(Writer, "is_usable", lambda _: next(answers, True))
    needed = 4 * 1024 * 1024 + log_of(killed / FILE_NAME).stat().st_size
    with full_disk():
        with pytest.raises(FullDiskError, match=f"{needed:,} bytes are needed"):
            warehouse.recover(nullcontext())
        assert counted(warehouse) == 1
    warehouse.recover(nullcontext())
    assert counted(warehouse) == 2
    warehouse.close()


def test_a_damaged_file_is_not_opened(killed: Path) -> None:
    (killed / FILE_NAME).write_bytes(b"x" * 20_000)
    with pytest.raises(DamagedStoreError):
        Warehouse.open_to_write(killed, is_patient=True)


def test_spill_files_of_a_killed_writer_are_deleted(store: Path) -> None:
    spilled = [
        write(store / f"{FILE_NAME}{suffix}.tmp" / "duckdb_temp_1_0.tmp", b"secret")
        for suffix in ("", ".new")
    ]
    with Warehouse.open_to_write(store):
        assert not any(file.exists() for file in spilled)


def test_a_writer_tells_whether_duckdb_has_the_file_and_works(store: Path) -> None:
    writer = Writer(store, is_shared=False)
    assert writer.is_usable()
    other = shutil.copy(store / FILE_NAME, store / "other")
    Path(other).rename(store / FILE_NAME)
    assert not writer.is_usable()
    writer.close()
    writer.close()  # closing it again is harmless
    with pytest.raises(duckdb.ConnectionException):
        writer.connection.execute("SELECT 1")
