from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.full_disk import full_disk
from tests.support.stores import MANIFEST, write
from tests.support.tiny_dumps import tiny_dump
from warehouse import Warehouse
from warehouse.engine.store_file import FILE_NAME, log_of
from warehouse.errors import DamagedStoreError, FullDiskError, StoreError
from warehouse.opening.standby import Standby

_COUNT = "SELECT count(*) AS n FROM dumps"


@pytest.fixture
def killed(store: Path, tmp_path: Path) -> Path:
    """The store of a killed writer, with a commit in DuckDB's log, and one in the archive alone."""
    dumps = [write(tmp_path / f"{number}.etdp", tiny_dump(number)) for number in range(2)]
    with Warehouse.open(store) as warehouse:
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


def test_a_store_on_a_full_disk_is_read_until_there_is_room(killed: Path) -> None:
    with full_disk():
        warehouse = Warehouse.open(killed, is_patient=True)
        assert "free some space" in str(warehouse.obstacle)
        with warehouse.reader() as reader:
            assert (counted(warehouse), counted(reader)) == (1, 1)
        for write_ in (
            lambda: warehouse.ingest(killed.parent / "1.etdp", manifest=MANIFEST),
            warehouse.snapshot,
            lambda: warehouse.recover(nullcontext()),
        ):
            with pytest.raises(FullDiskError):
                write_()
        assert len(warehouse.stored_dumps().look_up([])) == 0
    warehouse.recover(nullcontext())
    assert warehouse.obstacle is None
    assert counted(warehouse) == 2
    assert warehouse.snapshot().path.exists()
    warehouse.close()


def test_what_was_committed_survives_a_disk_that_stays_full(killed: Path) -> None:
    with full_disk():
        Warehouse.open(killed, is_patient=True).close()
    with Warehouse.open(killed) as warehouse:
        assert counted(warehouse) == 2


def test_a_command_fails_on_a_full_disk(killed: Path) -> None:
    with full_disk(), pytest.raises(FullDiskError, match="the disk is full"):
        Warehouse.open(killed)


def test_a_damaged_file_is_not_stood_by(killed: Path) -> None:
    (killed / FILE_NAME).write_bytes(b"x" * 20_000)
    with pytest.raises(DamagedStoreError):
        Warehouse.open(killed, is_patient=True)


def test_where_the_file_cannot_be_read_the_newest_snapshot_is(killed: Path) -> None:
    with Warehouse.open(killed) as warehouse:
        warehouse.snapshot()
    (killed / FILE_NAME).write_bytes(b"x" * 20_000)
    problem = StoreError("a.store", "cannot be written")
    standby = Standby(killed, problem)
    assert standby.connection.execute(_COUNT).fetchall() == [(2,)]
    standby.close()
    shutil.rmtree(killed / "snapshots")
    with pytest.raises(StoreError) as caught:
        Standby(killed, problem)
    assert caught.value is problem
