from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import everything, ingest, write
from tests.support.tiny_dumps import ingest_one_by_one, tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.checksums import table_checksums
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import StoreError, StoreLockedError
from tracehouse.warehouse.upkeep import compact as compaction
from tracehouse.warehouse.upkeep.compact import (
    compact_store,
    is_compaction_wanted,
    request_compaction,
)
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest_one_by_one(tmp_path_factory.mktemp("made"), 3)


def test_a_compacted_store_is_smaller_and_the_same(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        grow = "INSERT INTO events SELECT e.* FROM events AS e, range(50_000)"
        warehouse.writing.execute(grow)
        warehouse.writing.execute("CHECKPOINT")
        drop_old_events(warehouse.writing, store, find_old_events(warehouse.writing, days=0))
    before = everything(store)
    applied = "SELECT * FROM schema_migrations"
    with Warehouse.open(store, read_only=True) as warehouse:
        migrations = warehouse.sql(applied)
    done = compact_store(store)
    assert done.new_bytes == (store / FILE_NAME).stat().st_size < done.old_bytes
    assert done.n_merged_segments == 3
    assert len(Archive(store).segments()) == 1
    assert everything(store) == before
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.sql(applied) == migrations
    ingest(store, write(store.parent / "more.etdp", tiny_dump(9)))


@pytest.mark.slow
def test_a_copy_that_differs_does_not_take_the_place_of_the_store(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (store / FILE_NAME).read_bytes()
    sums = iter(({}, {"dumps": 1}))
    monkeypatch.setattr(compaction, "table_checksums", lambda _: next(sums))
    with pytest.raises(StoreError, match=r"copy differs.*'tracehouse store rebuild'"):
        compact_store(store)
    assert (store / FILE_NAME).read_bytes() == before
    with Warehouse.open_to_write(store) as warehouse:
        assert table_checksums(warehouse.writing)["dumps"].row_count == 3


@pytest.mark.slow
@pytest.mark.parametrize("has_deleted_dumps", [False, True])
def test_a_copy_that_is_not_smaller_is_taken_only_to_get_rid_of_deleted_dumps(
    store: Path, has_deleted_dumps: bool
) -> None:
    compact_store(store)
    if has_deleted_dumps:
        request_compaction(store)
    before = (store / FILE_NAME).stat()
    done = compact_store(store)
    assert done.old_bytes == before.st_size <= done.new_bytes
    assert ((store / FILE_NAME).stat().st_ino != before.st_ino) == has_deleted_dumps
    assert not is_compaction_wanted(store)


def test_a_store_in_use_is_not_compacted(store: Path) -> None:
    with Warehouse.open(store, read_only=True), pytest.raises(StoreLockedError):
        compact_store(store)
