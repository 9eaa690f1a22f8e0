from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS
from tests.support.stores import MANIFEST, ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.opening.status import StoreCounts, StoreStatus, read_status

NAMES = ("mlp_xnnpack_n1", "mixed_xnnpack_n20")
LATE = CORPUS / "real/cnn_portable_n20.etdp"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three dumps and a refused file, with a snapshot."""
    folder = tmp_path_factory.mktemp("made")
    store, files = folder / "store", [CORPUS / f"real/{name}.etdp" for name in NAMES]
    bad = write(folder / "bad.etdp", b"no dump at all" * 9)
    mended = write(folder / "mended.etdp", b"cut")
    ingest(store, bad, manifest={})  # a file that is refused for two reasons counts once
    ingest(store, *files, bad, mended)
    shutil.copy(LATE, mended)
    ingest(store, mended, manifest=MANIFEST | {"device": "other", "build": "b2"}, snapshot=True)
    return store


def state(store: Path) -> dict[str, tuple[int, int]]:
    """When each file of a store was changed, and how large it is."""
    found = ((path, path.stat()) for path in store.rglob("*"))
    return {str(path): (stat.st_mtime_ns, stat.st_size) for path, stat in found}


def counts(status: StoreStatus) -> StoreCounts:
    assert status.counts is not None
    return status.counts


def test_status_reports_the_sizes_of_a_healthy_store(store: Path) -> None:
    before, size = state(store), (store / FILE_NAME).stat().st_size
    status = read_status(store)
    assert (status.problem, status.is_locked, status.counted_at) == ("", False, None)
    assert (status.file_bytes, status.log_bytes, status.snapshot_bytes) == (size, 0, size)
    segments = Archive(store).segments()
    assert status.archive_bytes == sum(one.path.stat().st_size for one in segments)
    assert status.total_bytes == 2 * size + status.archive_bytes
    assert (status.archive_segments, status.unindexed_segments) == (len(segments), 0)
    (age,) = status.snapshot_ages_seconds
    assert 0 <= age < 3600
    found = counts(status)
    assert found.last_ingest_at is not None
    assert 0 <= (datetime.now(UTC) - found.last_ingest_at).total_seconds() < 3600
    with Warehouse.open(store, read_only=True) as warehouse:
        n_events = warehouse.sql("SELECT count(*) AS n FROM events")["n"].to_pylist()
    expected = {"dumps": 3, "devices": 2, "builds": 2, "models": 1, "archived_files": 5}
    assert {name: getattr(found, name) for name in expected} == expected
    assert (found.events, found.unarchived_dumps, found.refused) == (*n_events, 0, 1)
    assert state(store) == before


def test_the_dumps_that_wait_in_the_inbox_are_counted(store: Path) -> None:
    for name, size in (("1.log", 1000), ("2.log", 234), ("3.tmp", 9), ("4.sealed", 50)):
        write(store / "inbox" / name, bytes(size))
    status = read_status(store)
    assert (status.inbox_files, status.inbox_bytes) == (3, 1284)  # what is being indexed, too


@pytest.mark.slow
def test_status_reports_unarchived_dumps_and_unindexed_segments(store: Path) -> None:
    older = (store / FILE_NAME).read_bytes()
    ingest(store, CORPUS / "real/load_only.etdp")
    Archive(store).segments()[-1].path.unlink()
    assert counts(read_status(store)).unarchived_dumps == 1
    ingest(store, CORPUS / "real/load_only.etdp")
    assert counts(read_status(store)).unarchived_dumps == 0
    (store / FILE_NAME).write_bytes(older)  # as after a log that was cut
    assert read_status(store).unindexed_segments == 1
    for segment in Archive(store).segments():
        segment.path.unlink()
    found = counts(read_status(store))
    assert (found.unarchived_dumps, found.archived_files) == (3, 0)


def test_beside_a_writer_the_newest_snapshot_is_counted(store: Path) -> None:
    (taken,) = find_snapshots(store)
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([CORPUS / "real/load_only.etdp"], manifest=MANIFEST)
        status = read_status(store)
        assert (status.problem, status.is_locked) == ("", True)
        assert (status.writer_process_id, status.counted_at) == (os.getpid(), taken.taken_at)
        assert (counts(status).dumps, status.unindexed_segments) == (3, None)
        assert status.log_bytes > 0
        taken.path.unlink()
        status = read_status(store)
        assert (status.problem, status.is_locked, status.counts) == ("", True, None)


def test_a_damaged_store_names_the_command_that_mends_it(store: Path) -> None:
    (store / FILE_NAME).write_bytes(b"DUCK" * 10_000)
    damaged = read_status(store)
    (store / FILE_NAME).unlink()
    for status in (damaged, read_status(store)):
        assert status.problem.endswith("with 'tracehouse store rebuild'")
        assert status.counts is None
        assert status.archive_segments > 0


@pytest.mark.slow
def test_status_finds_damage_that_shows_only_when_data_is_read(store: Path) -> None:
    data = (store / FILE_NAME).read_bytes()
    # Blocks of 256 KiB follow the headers of 12 KiB; those of the catalogue are needed to open.
    problems = set()
    for start in range(12_288, len(data), 4 * 262_144):
        (store / FILE_NAME).write_bytes(data[:start] + bytes(4096) + data[start + 4096 :])
        problems.add(read_status(store).problem)
    assert any(problems)
    assert all("'tracehouse store rebuild'" in problem for problem in problems if problem)


def test_status_without_a_store_says_so_and_makes_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        assert read_status(path).problem.startswith("no store here")
        assert list(tmp_path.iterdir()) == []
