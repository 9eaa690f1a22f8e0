from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.kills import kill_at
from tests.support.stores import COUNTERS, MANIFEST, contents, everything, ingest, open_now, write
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import (
    ArchiveError,
    DamagedStoreError,
    StoreError,
    StoreLockedError,
    UnloadableDumpsError,
)
from tracehouse.warehouse.load import pipeline
from tracehouse.warehouse.load.batches import Batch
from tracehouse.warehouse.load.dump_rows import DumpRows
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.replay import ArchiveReader


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a history: everything that can come in has, some of it late or twice."""
    folder = tmp_path_factory.mktemp("lived_in")
    store, files = folder / "store", folder / "in"
    for name in ("mixed_xnnpack_n20", "mixed_portable_n20", "cnn_portable_n20"):
        write(files / f"{name}.etdp", read_dump(f"real/{name}"))
    write(files / "cnn_portable_n20.json", json.dumps({"counters": COUNTERS}).encode())
    write(files / "bad.etdp", b"no dump at all" * 9)
    ingest(store, files)
    shutil.copy(CORPUS / "legacy/alloc_id_differs.prof", files)
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", files / "mixed_xnnpack_n20.etrecord")
    write(files / "cnn_portable_n20.etrecord", b"no ETRecord")
    ingest(store, files)  # the ETRecords come late
    write(files / "multiout_portable_n3_debug.etdp", read_dump("real/multiout_portable_n3_debug"))
    ingest(store, files)
    shutil.copy(CORPUS / "real/multiout_portable_n3_debug.debug.bin", files)
    ingest(store, files)  # and so does a debug buffer
    for manifest in (MANIFEST | {"device": "wrong"}, MANIFEST, MANIFEST | {"device": "wrong"}):
        ingest(store, files / "mixed_portable_n20.etdp", manifest=manifest)
    return store


def test_a_rebuilt_store_equals_the_old_one_in_every_row(store: Path) -> None:
    before = everything(store)
    reasons = [row[2] for row in before["ingest_errors"]]
    assert {"settled_conflict", "conflict", "bad_identifier"} <= {*reasons}
    assert before["etrecords"]
    assert before["counters"]
    assert before["tensors"]
    done = rebuild_store(store)
    assert [table.name for table in done.tables if not table.is_equal] == []
    assert (done.n_dumps, done.kept, done.damaged, done.problem) == (5, None, (), "")
    assert everything(store) == before


@pytest.mark.slow
def test_how_the_archive_is_read_in_batches_changes_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.upkeep.replay.BATCH_FILES", 2)
    monkeypatch.setattr(pipeline, "COMMIT_EVENTS", 1)
    monkeypatch.setattr(pipeline, "STREAM_BYTES", 30_000)
    assert all(table.is_equal for table in rebuild_store(store).tables)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_a_store_without_its_file_says_so_and_is_rebuilt(store: Path, damage: str) -> None:
    before, file = everything(store), store / FILE_NAME
    data = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(
            data[:9000] if damage == "cut" else data[:4096] + bytes(8192) + data[12288:]
        )
    for read_only in (True, False):
        with pytest.raises(DamagedStoreError, match="'tracehouse store rebuild'"):
            open_now(store, read_only=read_only)
    done = rebuild_store(store)
    assert (done.kept is None) == (damage == "gone")
    assert done.problem
    assert everything(store) == before


@pytest.mark.slow
def test_opening_a_store_restores_lost_dumps_from_the_archive(store: Path, tmp_path: Path) -> None:
    older = (store / FILE_NAME).read_bytes()
    write(tmp_path / "late.etdp", read_dump("real/load_only"))
    ingest(store, tmp_path / "late.etdp")
    expected = everything(store)
    (store / FILE_NAME).write_bytes(older)  # as after a log that was cut
    assert everything(store) != expected
    Warehouse.open_to_write(store).close()
    assert everything(store) == expected


@pytest.mark.system
@pytest.mark.slow
def test_a_damaged_file_is_never_left_without_its_log(store: Path) -> None:
    before = everything(store)

    def spoil() -> None:
        with Warehouse.open_to_write(store) as warehouse:
            warehouse.writing.execute("DELETE FROM events")

    kill_at("checkpoint:1", spoil)
    kill_at("set aside:2", lambda: rebuild_store(store))
    with pytest.raises(DamagedStoreError, match="'tracehouse store rebuild'"):
        Warehouse.open(store, read_only=True).schema()
    assert rebuild_store(store).kept
    assert everything(store) == before


@pytest.mark.slow
def test_a_rebuild_loses_no_dump_that_the_archive_lacks(store: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.etdp", read_dump("real/load_only"))
    ingest(store, file)
    before = contents(store)
    Archive(store).segments()[-1].path.unlink()
    with pytest.raises(StoreError, match="1 of its dumps are not in the archive"):
        rebuild_store(store)
    assert ingest(store, file).n_duplicates == 1  # which puts it into the archive
    assert rebuild_store(store).n_dumps == 6
    assert contents(store) == before


@pytest.mark.slow
def test_a_rebuild_can_be_forced_and_keeps_the_old_file(store: Path, tmp_path: Path) -> None:
    ingest(store, write(tmp_path / "mine.etdp", read_dump("real/load_only")))
    Archive(store).segments()[-1].path.unlink()
    done = rebuild_store(store, is_forced=True)
    assert done.n_dumps == 5
    assert done.kept is not None
    assert done.kept.exists()


@pytest.mark.slow
def test_a_damaged_segment_is_set_aside_and_the_rest_is_rebuilt(store: Path) -> None:
    segment = Archive(store).segments()[-1]
    segment.path.chmod(0o600)
    os.truncate(segment.path, segment.path.stat().st_size // 2)
    (store / FILE_NAME).unlink()
    done = rebuild_store(store)
    assert [path.name for path in done.damaged] == [segment.path.name]
    assert done.n_dumps >= 3
    Warehouse.open(store, read_only=True).close()


def test_a_segment_that_the_disk_cannot_read_is_not_taken_for_a_damaged_one(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    segments = Archive(store).segments()
    monkeypatch.setattr(hashlib, "file_digest", fail)
    with pytest.raises(ArchiveError, match=r"cannot be read: Input/output error; repair the disk"):
        rebuild_store(store)
    assert Archive(store).segments() == segments


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_dumps_of_a_lost_segment_stay_in_the_store_and_come_into_the_archive_again(
    tmp_path: Path, damage: str
) -> None:
    store, files = tmp_path / "store", tmp_path / "in"
    for name in ("load_only", "cnn_portable_n20"):
        write(files / f"{name}.etdp", read_dump(f"real/{name}"))
        ingest(store, files)
    before = contents(store)
    first = Archive(store).segments()[0].path
    first.chmod(0o600)
    first.write_bytes(b"PAR1") if damage == "cut" else first.unlink()
    with pytest.raises(StoreError, match="1 of its dumps are not in the archive") as caught:
        rebuild_store(store)
    assert ("damaged segments were moved" in str(caught.value)) == (damage == "cut")
    assert contents(store) == before
    assert ingest(store, files).n_duplicates == 2
    assert rebuild_store(store).n_dumps == 2
    assert contents(store) == before


@pytest.mark.slow
def test_a_rebuild_that_fails_leaves_the_store_as_it_was(store: Path) -> None:
    before = everything(store)

    def fail(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild_store(store, progress=fail)
    assert everything(store) == before


def test_a_store_in_use_or_without_an_archive_is_not_rebuilt(store: Path, tmp_path: Path) -> None:
    with Warehouse.open(store, read_only=True), pytest.raises(StoreLockedError):
        rebuild_store(store)
    with pytest.raises(StoreError, match="has no archive"):
        rebuild_store(tmp_path)


BROKEN = "cnn_portable_n20.etdp"


@pytest.fixture
def broken_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the dumps cannot be loaded any more."""
    insert_dumps = DumpRows.insert_dumps

    def broken(self: DumpRows, dumps: Sequence[Any], *rest: Any) -> None:
        insert_dumps(self, dumps, *rest)
        if any(dump.source.endswith(BROKEN) for dump in dumps):
            raise KeyError("bug")

    monkeypatch.setattr(DumpRows, "insert_dumps", broken)


@pytest.mark.usefixtures("broken_load")
def test_a_rebuild_that_would_have_fewer_dumps_than_the_archive_replaces_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (store / FILE_NAME).read_bytes()
    told = rf"1 dumps of the archive .*{BROKEN} \(\w+\): uncommittable: KeyError: 'bug'; .*"
    told += r", in 0+1-0+\d+\.\w+\.parquet; mend the cause .*'tracehouse store rebuild --force'"
    with pytest.raises(UnloadableDumpsError, match=told):
        rebuild_store(store)
    assert (store / FILE_NAME).read_bytes() == before
    assert sorted(store.glob("*.old-*")) == []

    done = rebuild_store(store, is_forced=True)
    assert (done.n_dumps, len(done.lost)) == (4, 1)
    assert BROKEN in done.lost[0]
    assert done.kept is not None
    monkeypatch.undo()
    again = rebuild_store(store)
    assert (again.n_dumps, again.lost) == (5, ())


def test_a_bug_that_every_dump_meets_stops_a_rebuild(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (store / FILE_NAME).read_bytes()

    def broken(*_: object) -> None:
        raise KeyError("bug")

    monkeypatch.setattr(DumpRows, "insert_dumps", broken)
    with pytest.raises(KeyError, match="bug"):
        rebuild_store(store, is_forced=True)
    assert (store / FILE_NAME).read_bytes() == before


def test_a_row_that_a_rebuild_lacks_without_a_refusal_is_noticed(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_stored = ArchiveReader._without_stored

    def forgetful(self: ArchiveReader, batch: Batch) -> Batch:
        batch.dumps = [dump for dump in batch.dumps if not dump.source.endswith(BROKEN)]
        return without_stored(self, batch)

    monkeypatch.setattr(ArchiveReader, "_without_stored", forgetful)
    with pytest.raises(UnloadableDumpsError, match=rf"{BROKEN} \(\w+\): has no row, in "):
        rebuild_store(store)


@pytest.mark.slow
def test_a_store_that_cannot_catch_up_with_its_archive_says_so_and_refuses_no_dump(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = (store / FILE_NAME).read_bytes()
    ingest(store, write(tmp_path / "late.etdp", read_dump("real/load_only")))
    expected = everything(store)
    (store / FILE_NAME).write_bytes(older)  # as after a log that was cut

    def broken(*_: object) -> None:
        raise duckdb.ConversionException("value")

    with monkeypatch.context() as patched:
        patched.setattr(DumpRows, "insert_dumps", broken)
        with pytest.raises(UnloadableDumpsError, match=r"late\.etdp \(\w+\): uncommittable"):
            Warehouse.open_to_write(store)
    Warehouse.open_to_write(store).close()
    assert everything(store) == expected


@pytest.mark.slow
def test_a_dump_that_was_forgotten_and_came_again_is_never_left_out(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    data = read_dump("real/cnn_portable_n20")
    with Warehouse.open_to_write(store) as warehouse:
        chosen = choose_dumps(warehouse.writing, prefix=hashlib.sha256(data).hexdigest())
        forget_dumps(warehouse.writing, store, chosen)
    ingest(store, write(tmp_path / BROKEN, data))
    request.getfixturevalue("broken_load")
    with pytest.raises(UnloadableDumpsError, match=BROKEN):
        rebuild_store(store, is_forced=True)
    monkeypatch.undo()
    assert rebuild_store(store).n_dumps == 5
