from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.support.inboxes import fill_inbox
from tests.support.lakes import files_of, fill, rows_of
from tests.support.stores import COUNTERS, MANIFEST, write
from tests.support.tasks import DriverDies, DyingTasks, TasksHere
from tests.support.tiny_dumps import tiny_dump, tiny_dump_events
from tracehouse import Warehouse
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.compaction import compact_lake
from tracehouse.warehouse.lake.layout import FACTS, PLANS, SHARED_TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake
from tracehouse.warehouse.spark import groups
from tracehouse.warehouse.spark.groups import DECODED_GROUPS
from tracehouse.warehouse.spark.inboxes import ManifestDefaults
from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester

STATED = ManifestDefaults(MANIFEST)
_COUNTED = json.dumps({"counters": COUNTERS}).encode()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """An inbox of eight dumps of a day, and where its lake is to be."""
    return fill_inbox(tmp_path / "inbox", 8, days=1), tmp_path / "lake"


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "LEAST_BYTES", 1)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.warehouse.spark.ingest._PAUSE_SECONDS", 0)


def take(inbox: Path, lake: Path, tasks: TasksHere | None = None, stated=None) -> LakeIngest:
    return LakeIngester(tasks or TasksHere(), str(inbox), str(lake), stated).ingest_all()


def globbed(lake: Path, table: str) -> list[str]:
    """Rows that a reader finds who knows nothing of commits."""
    if not list(lake.glob(f"{table}/**/*.parquet")):
        return []
    rows = duckdb.read_parquet(f"{lake}/{table}/**/*.parquet", hive_partitioning=False)
    return [*map(repr, rows.to_arrow_table().to_pylist())]


def comparable(lake: Path, table: str) -> list[str]:
    rows = rows_of(lake, table)
    for row in rows:
        row.pop("ingested_at", None)
        row.pop("refused_at", None)
    return sorted({repr(row) for row in rows} if table in SHARED_TABLES else map(repr, rows))


@pytest.mark.slow
def test_lake_has_the_rows_that_the_store_of_the_same_dumps_exports(places, tmp_path: Path) -> None:
    inbox, lake = places
    write(inbox / "bad" / "cut.etdp", b"\x10\0\0\0\0\0\0\0ED00")
    write(inbox / "bad" / "manifest.json", b'{"device": "d", "build": "b", "model": "m"}')
    write(next(inbox.glob("*/0000.etdp")).with_suffix(".json"), _COUNTED)
    take(inbox, lake)
    assert len(comparable(lake, "counters")) == 3
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        warehouse.ingest([inbox])
        fill(tmp_path / "exported", warehouse.writing)
    for table in [*FACTS, *SHARED_TABLES]:
        assert comparable(lake, table) == comparable(tmp_path / "exported", table), table


@pytest.mark.slow
def test_dumps_of_a_day_and_model_are_in_its_folder_one_file_for_each_group(tmp_path: Path) -> None:
    inbox, lake = fill_inbox(tmp_path / "inbox", 8), tmp_path / "lake"
    done = take(inbox, lake)
    assert (done.n_dumps, done.n_events) == (8, sum(map(tiny_dump_events, range(8))))
    folders = [file.path.rpartition("/")[0] for file in files_of(lake, "dumps")]
    assert sorted(set(folders)) == [
        f"dumps/date={day}/model={model}"
        for day in ("2026-01-01", "2026-01-02")
        for model in ("net", "net%2F2")
    ]


@pytest.mark.slow
def test_second_ingest_changes_nothing(places) -> None:
    inbox, lake = places
    write(inbox / "lone.etdp", tiny_dump(90))  # which nothing is stated of
    take(inbox, lake)
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    assert take(inbox, lake) == LakeIngest(n_known=9)
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*")} == before


@pytest.mark.slow
def test_refused_dumps_are_rows_and_harm_no_other(places) -> None:
    inbox, lake = places
    bad = write(inbox / "2026-01-01-0" / "bad.etdp", b"\x10\0\0\0\0\0\0\0ED00")
    lone = write(inbox / "lone.etdp", tiny_dump(90))
    zipped = write(inbox / "cut.zip", b"PK\3\4")
    done = take(inbox, lake)
    assert done.n_dumps == 8
    assert {row["source"] for row in rows_of(lake, "ingest_errors")} == {
        str(bad), str(lone), str(zipped),
    }  # fmt: skip
    assert {one.source for one in done.refused} == {str(bad), str(lone), str(zipped)}


@pytest.mark.slow
def test_dump_without_a_manifest_is_taken_once_it_has_one(places) -> None:
    inbox, lake = places
    write(inbox / "lone.etdp", tiny_dump(90))
    assert [one.reason for one in take(inbox, lake).refused] == ["manifest"]
    write(inbox / "lone.json", b'{"device": "d", "build": "b", "model": "m"}')
    assert take(inbox, lake) == LakeIngest(n_dumps=1, n_events=tiny_dump_events(90), n_known=8)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 0, 4])
def test_ingest_that_died_is_done_again_without_a_dump_twice(places, n_groups: int) -> None:
    inbox, lake = places
    with pytest.raises(DriverDies):
        take(inbox, lake, DyingTasks(n_groups))
    seen = globbed(lake, "dumps")
    assert len(set(seen)) == len(seen)
    assert rows_of(lake, "dumps") == []
    fill_inbox(inbox, 4, first=8)  # which would be in other groups if all were planned anew
    done = take(inbox, lake)
    assert (done.n_dumps, done.n_known) == (12, 8)
    assert len(globbed(lake, "dumps")) == len(rows_of(lake, "dumps")) == 12
    assert len(globbed(lake, "events")) == sum(map(tiny_dump_events, range(12)))
    assert not list((lake / PLANS).iterdir())


@pytest.mark.slow
def test_ingest_that_died_after_its_commit_is_over(places, monkeypatch) -> None:
    inbox, lake = places

    def die(lake, ids) -> None:
        raise DriverDies

    with monkeypatch.context() as patched:
        patched.setattr("tracehouse.warehouse.spark.ingest.finish_plans", die)
        with pytest.raises(DriverDies):
            take(inbox, lake)
    assert take(inbox, lake) == LakeIngest(n_known=8)
    assert len(globbed(lake, "dumps")) == 8
    assert not list((lake / PLANS).iterdir())


@pytest.mark.slow
def test_dump_that_changed_since_it_died_is_left_out_with_its_group(places) -> None:
    inbox, lake = places
    with pytest.raises(DriverDies):
        take(inbox, lake, DyingTasks(4))
    changed = inbox / "2026-01-01-0" / "0000.etdp"
    os.unlink(changed)
    done = take(inbox, lake)
    assert done.n_changed
    assert done.n_dumps == 7
    assert len(globbed(lake, "dumps")) == len(rows_of(lake, "dumps")) == 7
    assert len(globbed(lake, "events")) == sum(map(tiny_dump_events, range(1, 8)))


@pytest.mark.slow
def test_lake_that_is_compacted_meanwhile_is_known_as_before(places) -> None:
    inbox, lake = places
    ingester = LakeIngester(TasksHere(), str(inbox), str(lake))
    ingester.ingest_all()
    assert compact_lake(Lake(lake)).merged_files
    fill_inbox(inbox, 2, first=8)
    assert (done := ingester.ingest_all()).n_known == 8
    assert done.n_dumps == 2
    assert len(rows_of(lake, "dumps")) == 10


@pytest.mark.slow
def test_two_ingests_of_the_same_inbox_do_not_store_dumps_twice(places) -> None:
    inbox, lake = places

    class Overtaken(TasksHere):
        """Another ingest comes and goes while this one looks at the dumps."""

        def run(self, pieces, work, schema):
            rows = super().run(pieces, work, schema)
            if len(self.done) == len(pieces):
                take(inbox, lake)
            return rows

    done = take(inbox, lake, Overtaken())
    assert done == LakeIngest(n_known=8)
    assert len(globbed(lake, "dumps")) == 8


@pytest.mark.slow
def test_a_lake_keeps_what_another_driver_of_the_same_plan_committed(places) -> None:
    inbox, lake = places
    changed = inbox / "2026-01-01-0" / "0000.etdp"

    class Overtaken(TasksHere):
        """Before this one decodes, another does it all, and then a dump is gone."""

        def run(self, pieces, work, schema):
            if schema is DECODED_GROUPS and changed.exists():
                take(inbox, lake)
                os.unlink(changed)
            return super().run(pieces, work, schema)

    assert take(inbox, lake, Overtaken()).n_changed
    assert verify_lake(Lake(lake)) == []
    assert len(globbed(lake, "dumps")) == len(rows_of(lake, "dumps")) == 8


@pytest.mark.slow
def test_files_deleted_by_another_driver_of_the_plan_are_not_committed(places) -> None:
    inbox, lake = places
    take(inbox, lake)
    fill_inbox(inbox, 1, first=8)
    (changed,) = inbox.glob("*/0008.etdp")

    class Overtaken(TasksHere):
        """What this one decoded, another finds changed, before this one commits it."""

        def run(self, pieces, work, schema):
            rows = super().run(pieces, work, schema)
            if schema is DECODED_GROUPS:
                os.unlink(changed)
                assert take(inbox, lake).n_changed == 1
            return rows

    take(inbox, lake, Overtaken())
    assert verify_lake(Lake(lake)) == []
    assert len(globbed(lake, "dumps")) == len(rows_of(lake, "dumps")) == 8


@pytest.mark.slow
def test_plan_that_is_given_up_leaves_the_files_of_another(places, monkeypatch) -> None:
    inbox, lake = places
    with pytest.raises(DriverDies):
        take(inbox, lake, DyingTasks(4))
    seen = globbed(lake, "dumps")
    monkeypatch.setattr(LakeIngester, "_resume", lambda _: LakeIngest())  # it began just before
    with pytest.raises(LakeError, match="other processes repeatedly ingest the same"):
        take(inbox, lake)
    assert seen == globbed(lake, "dumps") != []


@pytest.mark.slow
def test_files_of_a_plan_are_the_same_whoever_writes_them(places) -> None:
    inbox, lake = places
    write(inbox / "2026-01-01-0" / "bad.etdp", b"\x10\0\0\0\0\0\0\0ED00")
    with pytest.raises(DriverDies):
        take(inbox, lake, DyingTasks(9))
    first = {path: path.read_bytes() for path in lake.rglob("*.parquet")}
    take(inbox, lake)
    assert first
    assert first == {path: path.read_bytes() for path in first}


@pytest.mark.slow
@pytest.mark.parametrize("table", ["dumps", "ingest_errors"])
def test_a_file_of_the_lake_that_is_gone_is_named_with_what_tells_of_all(places, table) -> None:
    inbox, lake = places
    write(inbox / "lone.etdp", tiny_dump(90))  # which nothing is stated of
    take(inbox, lake)
    gone = files_of(lake, table)[0].path
    (lake / gone).unlink()
    remedy = f"list all problems with: tracehouse lake verify {lake}"
    with pytest.raises(LakeError, match=re.escape(f"{lake}: {gone} is gone; {remedy}")):
        take(inbox, lake)


def test_lake_that_cannot_be_written_is_named(places, tmp_path: Path) -> None:
    inbox, _ = places
    place = write(tmp_path / "file", b"")
    with pytest.raises(LakeError, match=str(place)):
        take(inbox, place)


@pytest.mark.slow
def test_lake_of_another_plan_for_the_same_dumps_is_waited_for(places, tmp_path: Path) -> None:
    inbox, lake = places
    with pytest.raises(DriverDies):
        take(inbox, lake, DyingTasks(2))
    other = tmp_path / "other"
    shutil.copytree(inbox, other)
    with pytest.raises(LakeError, match="other processes repeatedly ingest the same"):
        take(other, lake)
    assert len(Lake(lake).list(PLANS)) == 1
    assert take(inbox, lake).n_dumps == 8
