from __future__ import annotations

import errno
import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT
from tests.support.corpus import CORPUS
from tests.support.full_disk import full_disk, no_room
from tests.support.stores import ingest, open_now
from tracehouse import Warehouse
from tracehouse.warehouse.engine.store_file import FILE_NAME, SNAPSHOT_FOLDER
from tracehouse.warehouse.errors import FullDiskError, StoreError
from tracehouse.warehouse.opening import snapshots
from tracehouse.warehouse.opening.snapshots import KEPT, find_snapshots, hold_newest

DUMPS = [CORPUS / f"real/{name}.etdp" for name in ("mlp_xnnpack_n1", "load_only")]
LATE = CORPUS / "real/mlp_portable_n1.etdp"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two dumps, with a snapshot of both."""
    store = tmp_path_factory.mktemp("made") / "store"
    ingest(store, *DUMPS, snapshot=True)
    return store


def count_dumps(warehouse: Warehouse) -> int:
    return warehouse.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist()[0]


def count_rows(warehouse: Warehouse) -> int:
    return warehouse.query("dumps").num_rows


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing beyond that fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_snapshot_that_is_taken_after_the_clock_jumped_back_is_the_newest(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        year_now = 2030

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(cls.year_now, 1, 1, tzinfo=tz)

    monkeypatch.setattr(snapshots, "datetime", Clock)
    with Warehouse.open_to_write(store) as warehouse:
        taken = [warehouse.snapshot()]
        Clock.year_now = 1999
        taken += [warehouse.snapshot(), warehouse.snapshot()]
    assert find_snapshots(store) == taken
    held = hold_newest(store)
    assert held is not None
    held.release()
    assert (held.snapshot.path, held.snapshot.taken_at.year) == (taken[-1].path, 1999)
    assert held.snapshot.describe().endswith("which is 0 s old")


@pytest.mark.parametrize("copied", [None, 0, 5000])
def test_a_snapshot_is_whole_where_the_system_copies_nothing_itself_or_not_all(
    store: Path, monkeypatch: pytest.MonkeyPatch, copied: int | None
) -> None:
    told = []

    def fail_after_some(source: int, target: int, _: int, at: int, to: int) -> int:
        told.append(at)
        if at or not copied:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return os.pwrite(target, os.pread(source, copied, at), to)

    monkeypatch.setattr(snapshots, "_CLONE", 0)
    if copied is None:
        monkeypatch.delattr(os, "copy_file_range")
    else:
        monkeypatch.setattr(os, "copy_file_range", fail_after_some)
    with Warehouse.open_to_write(store) as writer:
        snapshot = writer.snapshot()
        assert snapshot.path.read_bytes() == (store / FILE_NAME).read_bytes()
    assert told == {None: [], 0: [0], 5000: [0, 5000]}[copied]


def test_a_snapshot_is_what_was_committed_when_it_was_published(store: Path) -> None:
    with Warehouse.open_to_write(store) as writer:
        writer.ingest([LATE], manifest={"device": "d", "build": "b", "model": "m"})
        with Warehouse.open(store, read_only=True) as reader:
            assert count_dumps(reader) == 2
            writer.snapshot()
            assert count_dumps(reader) == count_rows(reader) == 2
        with Warehouse.open(store, read_only=True) as reader:
            assert count_dumps(reader) == count_rows(reader) == 3
    assert len(find_snapshots(store)) == 2


def test_a_snapshot_is_read_only_and_readable_by_the_readers_of_the_store(store: Path) -> None:
    (taken,) = find_snapshots(store)
    assert stat.S_IMODE(taken.path.stat().st_mode) == 0o400
    assert stat.S_IMODE(taken.path.parent.stat().st_mode) == 0o700
    (store / FILE_NAME).chmod(0o644)
    with Warehouse.open_to_write(store) as warehouse:
        assert stat.S_IMODE(warehouse.snapshot().path.stat().st_mode) == 0o444


def test_the_newest_snapshots_are_kept_and_those_that_somebody_reads(store: Path) -> None:
    with Warehouse.open_to_write(store) as writer:
        reader = open_now(store, read_only=True)
        taken = [writer.snapshot() for _ in range(KEPT + 1)]
        assert find_snapshots(store)[1:] == taken[-KEPT:]
        assert [one.number for one in find_snapshots(store)] == [1, 3, 4, 5]
        assert count_rows(reader) == 2  # through another connection than before
        reader.close()
        taken.append(writer.snapshot())
    assert find_snapshots(store) == taken[-KEPT:]
    assert abs(taken[-1].taken_at.timestamp() - taken[-1].path.stat().st_mtime) < 3600


def test_the_number_of_kept_snapshots_is_a_setting(store: Path) -> None:
    with Warehouse.open_to_write(store) as writer:
        writer.kept_snapshots = 1
        taken = [writer.snapshot() for _ in range(2)]
        assert find_snapshots(store) == taken[-1:]
        taken.append(writer.snapshot(kept=2))
        assert find_snapshots(store) == taken[-2:]


def test_old_snapshots_make_room_for_the_new_one_but_the_newest_stays_until_then(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    copy = snapshots._copy

    def look(source: int, target: int, folder: Path) -> None:
        seen.append([one.number for one in find_snapshots(store)])
        copy(source, target, folder)

    monkeypatch.setattr(snapshots, "_copy", look)
    with Warehouse.open_to_write(store) as writer:
        for kept in (3, 3, 3, 2, 1, 1):
            writer.snapshot(kept=kept)
    assert seen == [[1], [1, 2], [2, 3], [4], [5], [6]]
    assert [one.number for one in find_snapshots(store)] == [7]


def test_a_copy_is_not_begun_where_there_is_no_room_for_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Warehouse.open_to_write(store) as writer, full_disk():
        monkeypatch.setattr(snapshots, "_CLONE", 0)
        monkeypatch.setattr(os, "copy_file_range", no_room)
        monkeypatch.setattr(os, "pwrite", no_room)
        size = (store / FILE_NAME).stat().st_size
        with pytest.raises(FullDiskError, match=f"{size:,} bytes are needed, and 0 are free"):
            writer.snapshot()
    assert [one.number for one in find_snapshots(store)] == [1]


def test_files_of_other_names_are_no_snapshots_and_left_alone(store: Path) -> None:
    folder = store / SNAPSHOT_FOLDER
    names = ("notes.txt", "000009-20261399T000000Z.duckdb", "1-20261122T000000Z.duckdb")
    for name in names:
        (folder / name).write_text("mine")
    (folder / "000010-20261122T000000Z.duckdb").mkdir()
    with Warehouse.open_to_write(store) as warehouse:
        assert warehouse.snapshot().number == 2
    assert {*names} < {path.name for path in folder.iterdir()}


@pytest.mark.system
def test_publishing_keeps_other_programs_from_writing_the_file(store: Path) -> None:
    # Closing any descriptor of the file in this process would let go of DuckDB's lock on it.
    other = f"import duckdb; duckdb.connect({str(store / FILE_NAME)!r})"
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.snapshot()
        done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
    assert "Could not set lock on file" in done.stderr


def test_a_snapshot_for_which_there_is_no_room_leaves_the_earlier_ones(store: Path) -> None:
    before = sorted(os.listdir(store / SNAPSHOT_FOLDER))
    with Warehouse.open_to_write(store) as warehouse:
        with files_of_at_most(1 << 20), pytest.raises(StoreError) as caught:
            warehouse.snapshot()
        assert "snapshots: cannot be written: File too large; " in str(caught.value)
        assert str(caught.value).endswith("raise the limit on the size of files and try again")
        assert sorted(os.listdir(store / SNAPSHOT_FOLDER)) == before
        with Warehouse.open(store, read_only=True) as reader:
            assert count_dumps(reader) == 2
        assert warehouse.snapshot().number == 2


def test_a_file_system_that_can_share_blocks_is_asked_to(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def share(target: int, request: int, source: int) -> int:
        asked.append(request)
        return os.sendfile(target, source, 0, os.fstat(source).st_size)

    monkeypatch.setattr("fcntl.ioctl", share)
    with Warehouse.open_to_write(store) as warehouse:
        copy = warehouse.snapshot().path.read_bytes()
    assert asked == [1 << 30 | 4 << 16 | 0x94 << 8 | 9]  # FICLONE of linux/fs.h
    assert copy == (store / FILE_NAME).read_bytes()


@pytest.mark.system
@pytest.mark.slow
def test_a_publisher_killed_at_any_moment_leaves_only_whole_snapshots(store: Path) -> None:
    command = [sys.executable, "-m", "tests.support.killed_publisher", str(store)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stderr == ""
    assert int(done.stdout) >= 10


@pytest.mark.slow
def test_a_long_ingest_publishes_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.load.pipeline.COMMIT_EVENTS", 1)
    monkeypatch.setattr("tracehouse.warehouse.load.batches.BATCH_FILES", 1)
    ingest(tmp_path / "short", *DUMPS, LATE, snapshot=True)
    assert len(find_snapshots(tmp_path / "short")) == 1
    monkeypatch.setattr(snapshots, "PAUSE", 0.0)
    ingest(tmp_path / "dear", *DUMPS, LATE, snapshot=True)
    assert [one.number for one in find_snapshots(tmp_path / "dear")] == [1, 2]
    monkeypatch.setattr(snapshots, "_SHARE", 0)
    ingest(tmp_path / "store", *DUMPS, LATE, snapshot=True)
    counts = []
    for one in find_snapshots(tmp_path / "store"):
        shutil.copy(one.path, tmp_path / FILE_NAME)
        with Warehouse.open(tmp_path, read_only=True) as warehouse:
            counts.append(count_dumps(warehouse))
        (tmp_path / FILE_NAME).unlink()
    assert counts == [2, 3, 3]
