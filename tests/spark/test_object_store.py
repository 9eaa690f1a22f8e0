"""Inboxes and lakes in S3, or in a stand-in for it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tests.support.etrecord_builder import MODELS
from tests.support.inboxes import fill_inbox
from tests.support.tasks import TasksHere
from tests.support.tiny_dumps import tiny_dump_events
from tracehouse import Warehouse
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.compaction import compact_lake
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake
from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester

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


def upload(folder: Path, uri: str) -> None:
    there = Lake(uri)
    pafs.copy_files(str(folder), there.root, destination_filesystem=there.files)


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


def test_a_missing_lake_file_is_reported_without_credentials(store, lake: str) -> None:
    store.export_lake(lake)
    place = Lake(lake)
    place.delete([place.list("dumps")[0].path])
    assert {one.problem for one in verify_lake(place)} == {"is gone"}
    with pytest.raises(LakeError, match=r"^s3://farm/[^?]*: ") as failed:
        store.export_lake(lake)
    assert "secret" not in str(failed.value)


def test_bucket_that_is_not_there_is_an_error_that_names_it(lake: str) -> None:
    with pytest.raises(LakeError, match=r"^s3://other/[^?]*: ") as failed:
        Lake(lake.replace("@farm/", "@other/")).begin()
    assert "secret" not in str(failed.value)


def test_etrecord_that_comes_later_is_attached(bucket, lake: str, tmp_path: Path) -> None:
    inbox = bucket.uri(f"{tmp_path.name}/inbox")
    upload(fill_inbox(tmp_path / "inbox", 2), inbox)
    ingester = LakeIngester(TasksHere(), inbox, lake)
    assert ingester.ingest_all().n_dumps == 2
    name = "2026-01-01-0/0000.etrecord"
    Lake(inbox).write(name, b"PK\3\4")
    (refusal,) = ingester.ingest_all().refused
    assert refusal.source.endswith(f"/inbox/{name}")
    assert ingester.ingest_all() == LakeIngest(n_known=2)
    Lake(inbox).write(name, (MODELS / "mixed_xnnpack.etrecord").read_bytes())
    assert ingester.ingest_all() == LakeIngest(n_known=2, n_attached=1)
    assert verify_lake(Lake(lake)) == []


def test_spark_fills_and_asks_a_lake(session, bucket, lake: str, store, tmp_path: Path) -> None:
    from tracehouse.warehouse.spark.answers import SparkLake
    from tracehouse.warehouse.spark.tasks import SparkTasks

    inbox = bucket.uri(f"{tmp_path.name}/inbox")
    upload(tmp_path / "inbox", inbox)
    done = LakeIngester(SparkTasks(session), inbox, lake).ingest_all()
    assert (done.n_dumps, done.n_events) == (4, sum(map(tiny_dump_events, range(4))))
    assert LakeIngester(SparkTasks(session), inbox, lake).ingest_all() == LakeIngest(n_known=4)
    assert verify_lake(Lake(lake)) == []
    with Warehouse.open_lake(lake) as opened:
        assert answers(SparkLake(session, lake)) == answers(opened)
        assert opened.sql(COUNTED).to_pylist() == store.sql(COUNTED).to_pylist()


def test_spark_takes_no_table_for_as_small_as_the_names_of_its_files(
    session, lake: str, store
) -> None:
    from tracehouse.warehouse.spark.answers import SparkLake

    store.export_lake(lake)
    events = SparkLake(session, lake).frame("SELECT * FROM events", {})
    # Behind an exchange the sizes that were met at run time count: those of the names.
    assert "Exchange" not in events._jdf.queryExecution().executedPlan().toString()
    assert events.rdd.getNumPartitions() == len(Lake(lake).list("events"))
