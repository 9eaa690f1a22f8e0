"""Companions that come later than their dumps, attached in a lake."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.lakes import files_of, rows_of
from tests.support.stores import MANIFEST, write
from tests.support.tasks import DriverDies, DyingTasks, TasksHere
from tracehouse import Warehouse
from tracehouse.warehouse.lake.layout import FACTS, SHARED_TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake
from tracehouse.warehouse.spark.inboxes import ManifestDefaults
from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester

DUMPS = ("mixed_portable_n20", "mixed_xnnpack_n20", "multiout_portable_n3_debug")
BUFFER = f"{DUMPS[2]}.debug.bin"
TIMES = {"ingested_at", "refused_at"}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """An inbox of three dumps, and a lake that has them as they are."""
    for name in DUMPS:
        write(tmp_path / "inbox" / name / f"{name}.etdp", read_dump(f"real/{name}"))
    take(tmp_path / "inbox", tmp_path / "lake")
    return tmp_path / "inbox", tmp_path / "lake"


def take(inbox: Path, lake: Path) -> LakeIngest:
    return LakeIngester(TasksHere(), str(inbox), str(lake), ManifestDefaults(MANIFEST)).ingest_all()


def bring_companions(inbox: Path) -> None:
    for name in DUMPS[:2]:
        shutil.copy(MODELS / "mixed_xnnpack.etrecord", inbox / name / f"{name}.etrecord")
    shutil.copy(CORPUS / f"real/{BUFFER}", inbox / DUMPS[2])


def comparable(lake: Path, table: str) -> list[str]:
    rows = [
        {name: value for name, value in row.items() if name not in TIMES}
        for row in rows_of(lake, table)
    ]
    return sorted({repr(row) for row in rows} if table in SHARED_TABLES else map(repr, rows))


@pytest.mark.slow
def test_companions_that_come_after_their_dumps_are_attached_as_a_store_attaches_them(
    places, tmp_path: Path
) -> None:
    inbox, lake = places
    came = [(row["sha256"], row["ingested_at"]) for row in rows_of(lake, "dumps")]
    bring_companions(inbox)
    assert take(inbox, lake) == LakeIngest(n_known=3, n_attached=3)
    assert verify_lake(Lake(lake)) == []
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([inbox], manifest=MANIFEST)
        store.export_lake(tmp_path / "exported")
    for table in [*FACTS, *SHARED_TABLES]:
        assert comparable(lake, table) == comparable(tmp_path / "exported", table), table
    assert sorted(came) == sorted(
        (row["sha256"], row["ingested_at"]) for row in rows_of(lake, "dumps")
    )
    assert take(inbox, lake) == LakeIngest(n_known=3)


@pytest.mark.slow
def test_each_companion_is_attached_when_it_comes_and_stays_when_it_goes(places) -> None:
    inbox, lake = places
    record = inbox / DUMPS[2] / "own.etrecord"
    shutil.copy(MODELS / "multiout_portable.etrecord", record)
    assert take(inbox, lake).n_attached == 1
    shutil.copy(CORPUS / f"real/{BUFFER}", inbox / DUMPS[2])
    assert take(inbox, lake).n_attached == 1
    rows = {row["source"]: row for row in rows_of(lake, "dumps")}
    row = rows[str(inbox / DUMPS[2] / f"{DUMPS[2]}.etdp")]
    assert None not in (row["etrecord_id"], row["debug_buffer_sha256"])
    assert len(rows) == 3
    assert verify_lake(Lake(lake)) == []
    record.unlink()
    before = files_of(lake, "dumps")
    assert take(inbox, lake) == LakeIngest(n_known=3)
    assert files_of(lake, "dumps") == before


@pytest.mark.slow
def test_attaching_that_was_broken_off_is_done_by_the_next_ingest(places) -> None:
    inbox, lake = places
    bring_companions(inbox)
    before = files_of(lake, "dumps")
    with pytest.raises(DriverDies):
        LakeIngester(DyingTasks(9), str(inbox), str(lake), ManifestDefaults(MANIFEST)).ingest_all()
    assert files_of(lake, "dumps") == before
    assert take(inbox, lake).n_attached == 3
    assert len(rows_of(lake, "dumps")) == 3
    assert verify_lake(Lake(lake)) == []


@pytest.mark.slow
def test_late_etrecord_that_cannot_be_read_is_on_record_and_tried_once(places) -> None:
    inbox, lake = places
    record = write(inbox / DUMPS[0] / "own.etrecord", b"PK\3\4")
    (refusal,) = take(inbox, lake).refused
    assert (refusal.source, refusal.reason) == (str(record), "etrecord")
    assert take(inbox, lake) == LakeIngest(n_known=3)
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", record)
    assert take(inbox, lake).n_attached == 1
