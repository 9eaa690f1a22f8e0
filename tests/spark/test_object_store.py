from __future__ import annotations

import os
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tests.support.inboxes import fill_inbox
from tests.support.tiny_dumps import tiny_dump_events
from warehouse import Warehouse
from warehouse.errors import LakeError
from warehouse.lake.compaction import compact_lake
from warehouse.lake.place import Lake
from warehouse.lake.verification import verify_lake
from warehouse.spark.ingest import LakeIngest, LakeIngester

ASKED = {"percentiles": {"model": "net"}, "coverage": {}}
COUNTED = """
SELECT d.sha256, count(*) AS n_events, CAST(sum(e.duration_ticks) AS BIGINT) AS ticks
FROM events AS e JOIN dumps AS d ON d.dump_id = e.dump_id GROUP BY d.sha256
ORDER BY d.sha256
"""


@pytest.fixture
def lake(bucket, tmp_path: Path) -> str:
    """The address of a lake of the test's own."""
    return bucket.uri(f"{tmp_path.name}/lake")


@pytest.fixture
def store(tmp_path: Path):
    with Warehouse.open(tmp_path / "store", create=True) as opened:
        opened.ingest([fill_inbox(tmp_path / "inbox", 4)])
        yield opened


def answers(asked) -> list[list[str]]:
    """What a store or lake says, but for the numbers that a store alone gives out."""
    tables = [asked.query(name, **params) for name, params in ASKED.items()]
    found = [
        sorted(repr({**row, "dump_id": None}) for row in table.to_pylist())
        for table in (*tables, asked.sql(COUNTED))
    ]
    assert all(found)
    return found


def test_store_is_exported_checked_merged_and_asked(store, lake: str, tmp_path: Path) -> None:
    assert store.export_lake(lake).new_dumps == 4
    store.ingest([fill_inbox(tmp_path / "inbox", 8)])
    assert store.export_lake(lake).new_dumps == 4
    assert store.export_lake(lake).new_dumps == 0
    assert compact_lake(Lake(lake)).merged_files
    assert verify_lake(Lake(lake)) == []
    with Warehouse.open_lake(lake) as opened:
        assert answers(opened) == answers(store)


def test_large_object_of_many_parts_comes_back_whole(lake: str) -> None:
    data = os.urandom(1 << 20)
    with Lake(lake).writing("events/a.parquet") as stream:
        for _ in range(24):
            stream.write(data)
    assert Lake(lake).read("events/a.parquet") == data * 24


def test_file_that_is_gone_is_told_without_keys(store, lake: str) -> None:
    store.export_lake(lake)
    place = Lake(lake)
    place.delete([place.list("dumps")[0].path])
    assert {one.problem for one in verify_lake(place)} == {"is gone"}
    with pytest.raises(LakeError, match=r"^s3://farm/[^?]*: ") as failed:
        store.export_lake(lake)
    assert "secret" not in str(failed.value)


def test_place_that_nobody_serves_is_an_error_that_names_it() -> None:
    nobody = "scheme=http&endpoint_override=127.0.0.1:9&region=us-east-1"
    with pytest.raises(LakeError, match=r"^s3://farm/lake: ") as failed:
        Lake(f"s3://any:secret@farm/lake?{nobody}").begin()
    assert "secret" not in str(failed.value)


def test_spark_fills_and_asks_a_lake(session, bucket, lake: str, store, tmp_path: Path) -> None:
    from warehouse.spark.answers import SparkLake
    from warehouse.spark.tasks import SparkTasks

    inbox = bucket.uri(f"{tmp_path.name}/inbox")
    there = Lake(inbox)
    local = str(tmp_path / "inbox")
    pafs.copy_files(local, there.root, destination_filesystem=there.files)
    done = LakeIngester(SparkTasks(session), inbox, lake).take_all()
    assert (done.n_dumps, done.n_events) == (4, sum(map(tiny_dump_events, range(4))))
    assert LakeIngester(SparkTasks(session), inbox, lake).take_all() == LakeIngest(n_known=4)
    assert verify_lake(Lake(lake)) == []
    with Warehouse.open_lake(lake) as opened:
        assert answers(SparkLake(session, lake)) == answers(opened)
        assert opened.sql(COUNTED).to_pylist() == store.sql(COUNTED).to_pylist()
