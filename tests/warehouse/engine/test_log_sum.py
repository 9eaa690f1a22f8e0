from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from tests.support.cross_section import cross_section
from tests.support.store_template import copy_new_store
from tests.support.stores import contents, open_now
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Warehouse
from tracehouse.warehouse.engine import log_sum
from tracehouse.warehouse.engine.connection import is_damage, open_writer, transaction, use_database
from tracehouse.warehouse.engine.log_sum import LogDamage, sum_of, track_log
from tracehouse.warehouse.engine.store_file import FILE_NAME, log_of
from tracehouse.warehouse.errors import DamagedStoreError, StoreError
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

VALUE = 0x0123456789ABCDEF


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Stores with an archive and with a lost one, each with a copy as if its writer was killed."""
    found = {archive: tmp_path_factory.mktemp("made") for archive in (True, False)}
    for archive, folder in found.items():
        copy_new_store(folder / "store")
        with Warehouse.open_to_write(folder / "store") as warehouse:
            warehouse.ingest([tiny_incoming(1)])
        with Warehouse.open_to_write(folder / "store") as warehouse:
            warehouse.ingest([tiny_incoming(2)])
            shutil.copytree(folder / "store", folder / "killed")
        if not archive:
            for name in ("store", "killed"):
                shutil.rmtree(folder / name / "archive")
    return found


@pytest.fixture
def file(folders: dict[bool, Path], tmp_path: Path) -> Path:
    """The DuckDB file of a store with one dump in it and one in its log."""
    shutil.copytree(folders[True], tmp_path, dirs_exist_ok=True)
    return tmp_path / "killed" / FILE_NAME


@pytest.fixture
def bare(folders: dict[bool, Path], tmp_path: Path) -> Path:
    """The same of a store that lost its archive."""
    shutil.copytree(folders[False], tmp_path, dirs_exist_ok=True)
    return tmp_path / "killed" / FILE_NAME


def change(path: Path, start: int, end: int, new: bytes) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:start] + new + data[end:])


def count_dumps(file: Path) -> int:
    Warehouse.open_to_write(file.parent).close()
    return len(contents(file.parent)["dumps"])


def insert(connection: duckdb.DuckDBPyConnection, count: int = 1) -> None:
    with transaction(connection):
        connection.execute(f"INSERT INTO t SELECT {VALUE} FROM range({count})")  # noqa: S608


def make_table(file: Path, count: int) -> None:
    """A database whose log holds that many equal values, as after a kill."""
    live = file.with_name("live.duckdb")
    with open_writer(live) as connection:
        use_database(connection)
        connection.execute("CREATE TABLE t (a BIGINT)")
        connection.execute("CHECKPOINT")
        track_log(connection, live)
        insert(connection, count)
        for old, new in ((live, file), (log_of(live), log_of(file)), (sum_of(live), sum_of(file))):
            shutil.copy(old, new)


def read_total(file: Path) -> int:
    with open_writer(file) as connection:
        use_database(connection)
        ((total,),) = connection.execute("SELECT sum(a) FROM t").fetchall()
        return int(total)


@pytest.mark.slow
def test_readers_notice_that_a_log_was_deleted(file: Path) -> None:
    log_of(file).unlink()
    with pytest.raises(DamagedStoreError, match=r"warehouse\.duckdb\.wal is gone, with \d"):
        Warehouse.open(file.parent, read_only=True).schema()
    assert count_dumps(file) == 2  # a writer takes it from the archive


def test_a_log_that_a_checkpoint_took_in_is_not_missed(file: Path) -> None:
    known = sum_of(file).read_bytes()
    with open_writer(file) as connection:
        connection.execute("CHECKPOINT warehouse")
    assert not log_of(file).exists()
    sum_of(file).write_bytes(known)
    assert len(contents(file.parent)["dumps"]) == 2


@pytest.mark.slow
def test_zeros_written_into_a_log_are_found_even_where_duckdb_would_not(tmp_path: Path) -> None:
    whole = tmp_path / "whole" / "some.duckdb"
    whole.parent.mkdir()
    make_table(whole, 1000)
    start = log_of(whole).read_bytes().index(VALUE.to_bytes(8, "little") * 100)
    silent = []
    for at in range(start, start + 8):
        folder = Path(shutil.copytree(whole.parent, tmp_path / str(at)))
        file = folder / whole.name
        change(log_of(file), at, at + 512, bytes(512))
        with pytest.raises(
            LogDamage, match=r"some.duckdb.wal differs from the committed log"
        ) as caught:
            open_writer(file)
        assert is_damage(caught.value)
        sum_of(file).unlink()
        try:
            silent += [at] if read_total(file) != VALUE * 1000 else []
        except duckdb.Error:
            continue
    assert len(silent) == 1  # where its words begin
    assert read_total(whole) == VALUE * 1000


@pytest.mark.slow
@pytest.mark.parametrize("read_only", [False, True])
def test_a_log_with_a_damaged_beginning_is_reported_and_rebuilt(
    file: Path, tmp_path: Path, read_only: bool
) -> None:
    change(log_of(file), 0, 1, b"\0")
    with pytest.raises(
        DamagedStoreError, match=r"wal differs from the committed log .* 'tracehouse store rebuild'"
    ):
        open_now(file.parent, read_only=read_only)
    rebuild_store(file.parent)
    assert contents(file.parent) == contents(tmp_path / "store")
    assert [path.name for path in file.parent.glob(f"{sum_of(file).name}*")] == [
        path.name for path in file.parent.glob(f"{sum_of(file).name}.old-*")
    ]


@pytest.mark.parametrize("share", cross_section([0.3, 0, 0.9], 3))
def test_a_truncated_log_is_reported_with_the_remedy(bare: Path, share: float) -> None:
    data = log_of(bare).read_bytes()
    log_of(bare).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(StoreError, match=r"wal is truncated: .* move warehouse.duckdb.wal and"):
        Warehouse.open_to_write(bare.parent)
    (bare.parent / "archive").mkdir()
    with pytest.raises(DamagedStoreError, match="'tracehouse store rebuild'"):
        Warehouse.open_to_write(bare.parent)
    (bare.parent / "archive").rmdir()
    log_of(bare).unlink()
    with pytest.raises(StoreError, match=r"is gone, with .*\.wal\.sum away and repeat"):
        Warehouse.open_to_write(bare.parent)
    sum_of(bare).unlink()
    assert count_dumps(bare) == 1


def test_an_empty_log_after_a_checkpoint_is_no_damage(file: Path) -> None:
    known = sum_of(file).read_bytes()
    assert count_dumps(file) == 2
    sum_of(file).write_bytes(known)
    log_of(file).touch()  # as after a commit for which the disk was full
    assert count_dumps(file) == 2


def test_a_store_closed_leaves_no_record(file: Path, tmp_path: Path) -> None:
    assert sum_of(file).exists()
    assert count_dumps(file) == 2
    assert not sum_of(file).exists()
    assert not sum_of(tmp_path / "store" / FILE_NAME).exists()
    sum_of(file).write_bytes(b"of a log")
    assert rebuild_store(file.parent).kept is None
    assert not sum_of(file).exists()


@pytest.mark.slow
def test_commits_after_the_last_log_record_are_kept(file: Path, tmp_path: Path) -> None:
    before = sum_of(file).read_bytes()
    with Warehouse.open_to_write(file.parent) as warehouse:
        for number in (3, 4):
            warehouse.ingest([tiny_incoming(number)])
        copy = Path(shutil.copytree(file.parent, tmp_path / "again"))
    shutil.rmtree(copy / "archive")  # from which the dumps would be loaded again
    sum_of(copy / FILE_NAME).write_bytes(before)
    assert count_dumps(copy / FILE_NAME) == 4


@pytest.mark.slow
def test_a_checksum_record_of_an_older_log_is_ignored(file: Path, tmp_path: Path) -> None:
    old = sum_of(file).read_bytes()
    with Warehouse.open_to_write(file.parent) as warehouse:
        warehouse.snapshot()
        sum_of(file).write_bytes(old)
        for number in (3, 4):
            warehouse.ingest([tiny_incoming(number)])
            copy = Path(shutil.copytree(file.parent, tmp_path / f"killed {number}"))
            assert sum_of(copy / FILE_NAME).read_bytes() != old
            sum_of(copy / FILE_NAME).write_bytes(old)
            assert count_dumps(copy / FILE_NAME) == number


@pytest.mark.slow
@pytest.mark.parametrize("torn", [b"", bytes(20), bytes(19), b"x" * 4096])
def test_a_torn_checksum_record_is_ignored(file: Path, tmp_path: Path, torn: bytes) -> None:
    sum_of(file).write_bytes(torn)
    with Warehouse.open_to_write(file.parent) as warehouse:
        warehouse.ingest([tiny_incoming(3)])
        copy = Path(shutil.copytree(file.parent, tmp_path / "again")) / FILE_NAME
    assert len(contents(file.parent)["dumps"]) == 3
    change(log_of(copy), 0, 1, b"\0")  # the next one is whole again
    with pytest.raises(DamagedStoreError):
        Warehouse.open_to_write(copy.parent)


@pytest.mark.slow
def test_a_log_moved_away_takes_its_record_along(bare: Path, tmp_path: Path) -> None:
    log_of(bare).unlink()
    sum_of(bare).unlink()
    with Warehouse.open_to_write(bare.parent) as warehouse:
        for number in (2, 3):  # the log that the first makes begins like the other, as long as it
            warehouse.ingest([tiny_incoming(number)])
        copy = Path(shutil.copytree(bare.parent, tmp_path / "again"))
    shutil.rmtree(copy / "archive")
    assert count_dumps(copy / FILE_NAME) == 3


@pytest.mark.slow
def test_a_commit_holds_though_its_record_cannot_be_written(file: Path) -> None:
    sum_of(file).unlink()
    sum_of(file).mkdir()
    with Warehouse.open_to_write(file.parent) as warehouse:
        warehouse.ingest([tiny_incoming(3)])
    assert count_dumps(file) == 3


def test_each_byte_of_a_log_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, add = [], log_sum._add

    def count(log: int, total: int, start: int, end: int) -> int:
        read.append(end - start)
        return add(log, total, start, end)

    monkeypatch.setattr(log_sum, "_add", count)
    file = tmp_path / "some.duckdb"
    with open_writer(file) as connection:
        use_database(connection)
        connection.execute("CREATE TABLE t (a BIGINT)")
        track_log(connection, file)
        for _ in range(20):
            insert(connection, 1000)
        assert (len(read), sum(read)) == (20, log_of(file).stat().st_size)
