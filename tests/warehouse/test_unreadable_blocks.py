"""Checkpoints that fail because DuckDB cannot read its own blocks: the archive makes a new file.

Blocks are spoiled as a faulty DuckDB would write them, with valid checksums (duckdb 22823). Where
the same must happen again and again, errors are injected where checkpoints are asked for.
"""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.cross_section import cross_section
from tests.support.failing_checkpoints import (
    ALWAYS,
    CAUSE,
    ERROR,
    WITH_BITPACKING,
    failing_checkpoints,
)
from tests.support.full_disk import full_disk
from tests.support.planted import verified
from tests.support.spoiled_block import OLD_COUNT, compressions, make_packed_store, spoil_segment
from tests.support.stores import MANIFEST, contents, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.engine.failed_checkpoints import mark_torn, may_be_torn, read_failures
from tracehouse.warehouse.engine.store_file import FILE_NAME, HEADERS_BYTES
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    FailedCheckpointError,
    FullDiskError,
    HopelessCheckpointError,
)
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.opening.status import read_status
from tracehouse.warehouse.upkeep.compact import compact_store
from tracehouse.warehouse.upkeep.rebuild import rebuild_store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_packed_store(tmp_path_factory.mktemp("made"))


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "store")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write(tmp_path / "new.etdp", tiny_dump(99))


def counted(store: Path) -> int:
    with Warehouse.open(store, read_only=True) as warehouse:
        return warehouse.sql("SELECT sha256 FROM dumps").num_rows


def kept_files(store: Path) -> list[str]:
    """The files that a rebuild set aside, without their times."""
    return sorted(path.name.rpartition("-")[0] for path in store.glob("*.old-*"))


def assert_right(store: Path) -> None:
    """Check all rows against the archive."""
    with Warehouse.open_to_write(store) as warehouse:
        assert verified(warehouse.writing, store).damages == []


@pytest.mark.parametrize(
    ("table", "column"),
    cross_section([("runs", "n_events"), ("event_stats", "max_ticks"), ("dumps", "n_events")], 3),
)
def test_an_ingest_whose_last_checkpoint_fails_rebuilds_the_store(
    store: Path, dump: Path, table: str, column: str
) -> None:
    spoil_segment(store, table, column)
    with Warehouse.open_to_write(store) as warehouse:
        assert warehouse.ingest([dump], manifest=MANIFEST).n_dumps == 1
    status = read_status(store)
    assert (status.failed_checkpoints, status.disabled_compression) == (1, "")
    assert status.rebuilt_at is not None
    assert status.failed_checkpoint_at is not None
    assert status.rebuilt_at > status.failed_checkpoint_at
    assert read_failures(store).problem == CAUSE
    assert "warehouse.duckdb.old" in kept_files(store)
    assert counted(store) == OLD_COUNT + 1
    assert_right(store)


def test_a_snapshot_of_a_store_whose_checkpoint_fails_is_that_of_the_rebuilt_one(
    store: Path, dump: Path
) -> None:
    spoil_segment(store, "runs", "n_events")
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([dump], manifest=MANIFEST, snapshot=True)
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == OLD_COUNT + 1
        other = write(dump.with_name("other.etdp"), tiny_dump(98))
        assert warehouse.ingest([other], manifest=MANIFEST).n_dumps == 1
    assert [one.number for one in find_snapshots(store)] == [1]
    assert counted(store) == OLD_COUNT + 2
    assert_right(store)


def test_a_store_whose_log_cannot_be_merged_is_rebuilt_when_it_is_opened(
    store: Path, dump: Path, tmp_path: Path
) -> None:
    spoil_segment(store, "runs", "n_events")
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([dump], manifest=MANIFEST)
        killed = shutil.copytree(store, tmp_path / "killed")
    with Warehouse.open_to_write(killed) as warehouse:
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == OLD_COUNT + 1
    assert read_failures(killed).failure_count == 1
    assert contents(killed) == contents(store)


def test_an_open_store_recovers_by_a_rebuild(store: Path, dump: Path) -> None:
    """As in a service, where a reader is open, and nothing is done before `recover`."""
    spoil_segment(store, "runs", "n_events")
    with Warehouse.open_to_write(store, is_patient=True) as warehouse:
        warehouse.recover(nullcontext())
        warehouse.ingest([dump], manifest=MANIFEST)
        assert len(warehouse.stored_dumps().manifests(["0" * 64])) == 0
        with pytest.raises(FailedCheckpointError, match=f"{CAUSE}.*rebuilds the store"):
            warehouse.snapshot()
        with warehouse.reader() as reader, pytest.raises(FailedCheckpointError):
            reader.sql("SELECT sha256 FROM dumps")
        assert read_failures(store).failure_count == 1  # the error of a reader is none of its own
        warehouse.recover(nullcontext())
        assert warehouse.snapshot().number == 1
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == OLD_COUNT + 1


@pytest.mark.slow
def test_a_service_that_ends_leaves_the_rebuild_to_the_next_writer(store: Path, dump: Path) -> None:
    spoil_segment(store, "runs", "n_events")
    warehouse = Warehouse.open_to_write(store, is_patient=True)
    warehouse.recover(nullcontext())
    warehouse.ingest([dump], manifest=MANIFEST)
    with pytest.raises(FailedCheckpointError):
        warehouse.close()
    assert read_failures(store).is_rebuild_wanted
    assert not kept_files(store)
    assert counted(store) == OLD_COUNT + 1  # the old file can be read
    Warehouse.open_to_write(store).close()
    assert not read_failures(store).is_rebuild_wanted
    assert_right(store)


def test_a_service_that_ends_in_a_rebuild_begins_it_again(store: Path, dump: Path) -> None:
    spoil_segment(store, "runs", "n_events")
    warehouse = Warehouse.open_to_write(store, is_patient=True)
    warehouse.recover(nullcontext())
    warehouse.ingest([dump], manifest=MANIFEST)
    with pytest.raises(FailedCheckpointError):
        warehouse.snapshot()
    with pytest.raises(KeyboardInterrupt):
        warehouse.recover(nullcontext(), _interrupt)
    assert read_failures(store).is_rebuild_wanted
    warehouse.close()
    Warehouse.open_to_write(store).close()
    assert read_failures(store).failure_count == 1
    assert counted(store) == OLD_COUNT + 1
    assert_right(store)


def _interrupt(_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_commit_whose_checkpoint_fails_is_there_and_the_store_is_rebuilt(
    store: Path, dump: Path
) -> None:
    spoil_segment(store, "runs", "n_events")
    with pytest.raises(FailedCheckpointError, match=CAUSE):
        _ingest_with_checkpoints(store, dump)
    failures = read_failures(store)
    assert (failures.failure_count, failures.is_rebuild_wanted) == (1, False)
    assert counted(store) == OLD_COUNT + 1
    with Warehouse.open_to_write(store) as warehouse:
        assert warehouse.ingest([dump], manifest=MANIFEST).n_dumps == 0
    assert_right(store)


def test_a_compaction_whose_checkpoint_fails_rebuilds_the_store(store: Path) -> None:
    with failing_checkpoints(WITH_BITPACKING, times=1):
        done = compact_store(store)
    assert done.new_bytes == (store / FILE_NAME).stat().st_size
    assert read_failures(store).rebuilt_at is not None
    assert counted(store) == OLD_COUNT
    assert_right(store)


def test_a_rebuild_whose_checkpoint_fails_is_repeated_without_that_compression(
    store: Path, dump: Path
) -> None:
    assert "BitPacking" in compressions(store, "events")
    with failing_checkpoints(WITH_BITPACKING):
        with Warehouse.open_to_write(store) as warehouse:
            warehouse.ingest([dump], manifest=MANIFEST)
        status = read_status(store)
        assert (status.failed_checkpoints, status.disabled_compression) == (2, "bitpacking")
        # Later writers leave it out, too: otherwise their checkpoints would fail.
        later = write(dump.with_name("later.etdp"), tiny_dump(98))
        with Warehouse.open_to_write(store) as warehouse:
            assert warehouse.ingest([later], manifest=MANIFEST, snapshot=True).n_dumps == 1
        compact_store(store)
        rebuild_store(store)
    assert read_failures(store).failure_count == 2
    for table in ("events", "runs", "dumps", "event_stats"):
        assert "BitPacking" not in compressions(store, table)
    assert counted(store) == OLD_COUNT + 2
    assert_right(store)


def test_the_third_failure_is_an_error_and_the_data_can_be_read(store: Path, dump: Path) -> None:
    before = (store / FILE_NAME).read_bytes()
    with failing_checkpoints(ALWAYS):
        warehouse = Warehouse.open_to_write(store)
        warehouse.ingest([dump], manifest=MANIFEST)
        with pytest.raises(HopelessCheckpointError) as caught:
            warehouse.close()
        assert counted(store) == OLD_COUNT + 1
        # A writer tries again, without a rebuild, so the log grows no further.
        with pytest.raises(HopelessCheckpointError):
            Warehouse.open_to_write(store)
        assert read_failures(store).failure_count == 4
    message = str(caught.value)
    assert message.startswith(f"{store / FILE_NAME}: DuckDB ")
    assert f"({CAUSE}); all dumps are in the archive" in message
    assert message.endswith("install another version of DuckDB, and run 'tracehouse store rebuild'")
    assert (store / FILE_NAME).read_bytes() == before
    Warehouse.open_to_write(store).close()
    assert counted(store) == OLD_COUNT + 1


@pytest.mark.slow
def test_a_rebuild_by_hand_is_tried_once_more(store: Path) -> None:
    with failing_checkpoints(ALWAYS), pytest.raises(HopelessCheckpointError):
        rebuild_store(store)
    assert read_failures(store).failure_count == 3
    assert rebuild_store(store).n_dumps == OLD_COUNT
    assert not read_failures(store).is_rebuild_wanted


def test_a_rebuild_that_finds_a_full_disk_is_done_by_the_next_writer(
    store: Path, dump: Path
) -> None:
    warehouse = Warehouse.open_to_write(store)
    warehouse.ingest([dump], manifest=MANIFEST)
    with failing_checkpoints(ALWAYS, times=1), pytest.MonkeyPatch.context() as patched:
        patched.setattr("tracehouse.warehouse.upkeep.rebuild.make_file", _fail_for_want_of_room)
        with pytest.raises(FullDiskError):
            warehouse.close()
    assert read_failures(store).is_rebuild_wanted
    with full_disk(), Warehouse.open(store, read_only=True) as reader:
        assert reader.sql("SELECT sha256 FROM dumps").num_rows == OLD_COUNT + 1
    Warehouse.open_to_write(store).close()
    assert read_failures(store).rebuilt_at is not None
    assert counted(store) == OLD_COUNT + 1


def tear(store: Path) -> None:
    """Damage a block of DuckDB's catalogue, as a disk that fails in a checkpoint may."""
    with open(store / FILE_NAME, "r+b") as file:
        file.seek(HEADERS_BYTES)
        file.write(b"torn" * 1024)


def test_a_block_that_a_full_disk_tore_is_mended_by_the_next_writer(
    store: Path, tmp_path: Path
) -> None:
    tear(store)
    unmarked = shutil.copytree(store, tmp_path / "unmarked")
    with pytest.raises(DamagedStoreError, match="'tracehouse store rebuild'"):
        Warehouse.open_to_write(unmarked)
    mark_torn(store)
    with Warehouse.open_to_write(store) as warehouse:
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == OLD_COUNT
    assert not may_be_torn(store)
    assert read_failures(store).failure_count == 0
    assert kept_files(store) == ["warehouse.duckdb.old"]


@pytest.mark.parametrize("is_marked", [True, False])
def test_an_open_store_with_a_torn_block_recovers(store: Path, is_marked: bool) -> None:
    warehouse = Warehouse.open_to_write(store, is_patient=True)
    warehouse.writing.close()  # as DuckDB refuses all statements
    tear(store)
    if is_marked:
        mark_torn(store)
        warehouse.recover(nullcontext())
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == OLD_COUNT
        warehouse.close()
        assert_right(store)
    else:
        with pytest.raises(DamagedStoreError, match="'tracehouse store rebuild'"):
            warehouse.recover(nullcontext())
        warehouse.close()


def test_a_disk_that_fails_in_a_checkpoint_leaves_the_mark_until_one_succeeds(
    store: Path, dump: Path
) -> None:
    text = ERROR.replace(CAUSE, "Could not write file: No space left on device")
    warehouse = Warehouse.open_to_write(store)
    warehouse.ingest([dump], manifest=MANIFEST)
    with failing_checkpoints(ALWAYS, times=1, error=text), pytest.raises(FullDiskError):
        warehouse.close()
    assert may_be_torn(store)
    assert read_failures(store).failure_count == 0
    Warehouse.open_to_write(store).close()
    assert not may_be_torn(store)
    assert not kept_files(store)
    assert counted(store) == OLD_COUNT + 1


def _ingest_with_checkpoints(store: Path, dump: Path) -> None:
    """Ingest a dump, with a checkpoint at each commit; usually they come with 1 GB of the log."""
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.writing.execute("SET checkpoint_threshold = '0B'")
        warehouse.ingest([dump], manifest=MANIFEST)


def _fail_for_want_of_room(store: Path, *_: object, **__: object) -> None:
    raise FullDiskError(str(store), "No space left on device")
