"""ETRecords that come with dumps: which is taken, when, and what is left when something fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.corpus import read_dump
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import MODELS, build_zip, read_members
from tests.support.event_blocks import run, timed
from tests.support.stores import MANIFEST, contents, ingest, write
from tracehouse import Warehouse
from tracehouse.ingest.dump import file_at
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.record import build_etrecord_tables, etrecord_id, read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.warehouse.load import batches
from tracehouse.warehouse.programs.reader import ProgramReader

MIXED = MODELS / "mixed_xnnpack.etrecord"
OTHER = MODELS / "cnn_xnnpack.etrecord"
DUMPS = ("mixed_xnnpack_n20", "mixed_xnnpack_n20_debug", "mixed_portable_n20")

LINKS = (
    "SELECT regexp_extract(d.source, '[^/]*$') AS dump, regexp_extract(e.source, '[^/]*$') AS "
    "record FROM dumps AS d LEFT JOIN etrecords AS e ON e.etrecord_id = d.etrecord_id ORDER BY 1"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three dumps of programs that are alike."""
    for name in DUMPS:
        write(tmp_path / f"in/{name}.etdp", read_dump(f"real/{name}"))
    return tmp_path / "in"


def damaged(record: Path) -> bytes:
    return record.read_bytes()[:-100]


def links(store: Path) -> dict[str, str | None]:
    """Name of each dump's ETRecord by the dump's name."""
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql(LINKS).to_pylist()
    return {row["dump"].removesuffix(".etdp"): row["record"] for row in rows}


def traced(store: Path) -> set[tuple[int, int]]:
    """ETRecords and run signatures that are traced."""
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql(
            "SELECT DISTINCT etrecord_id, run_signature_id FROM event_origins"
        ).to_pylist()
    return {(row["etrecord_id"], row["run_signature_id"]) for row in rows}


def linked(store: Path) -> set[tuple[int, int]]:
    """ETRecords of dumps, and the run signatures of those dumps."""
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql(
            "SELECT DISTINCT etrecord_id, run_signature_id FROM dumps AS d JOIN runs AS r "
            "ON r.dump_id = d.dump_id WHERE etrecord_id IS NOT NULL"
        ).to_pylist()
    return {(row["etrecord_id"], row["run_signature_id"]) for row in rows}


def test_an_etrecord_beside_a_dump_is_stored_and_traced(tmp_path: Path, folder: Path) -> None:
    shutil.copy(MIXED, folder / f"{DUMPS[0]}.etrecord")
    shutil.copy(OTHER, folder / f"{DUMPS[1]}.etrecord")
    summary = ingest(tmp_path / "store", folder)
    assert (summary.n_files, summary.n_dumps, summary.refused) == (3, 3, ())
    assert links(tmp_path / "store") == {
        DUMPS[0]: f"{DUMPS[0]}.etrecord",
        DUMPS[1]: f"{DUMPS[1]}.etrecord",
        DUMPS[2]: None,
    }
    assert traced(tmp_path / "store") == linked(tmp_path / "store")
    record = read_etrecord(Source(str(folder / f"{DUMPS[0]}.etrecord")))
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        for name, table in build_etrecord_tables(record).items():
            stored = warehouse.sql(
                f"SELECT * FROM {name} WHERE etrecord_id = {etrecord_id(record)} ORDER BY rowid"  # noqa: S608
            )
            assert stored.to_pylist() == table.to_pylist()


def test_the_etrecord_of_a_folder_is_stored_once(tmp_path: Path, folder: Path) -> None:
    shutil.copy(MIXED, folder / "net.etrecord")
    ingest(tmp_path / "store", folder)
    assert set(links(tmp_path / "store").values()) == {"net.etrecord"}
    assert len(contents(tmp_path / "store")["etrecords"]) == 1


def test_an_etrecord_that_is_given_is_that_of_all_dumps(tmp_path: Path, folder: Path) -> None:
    shutil.copy(OTHER, folder / f"{DUMPS[0]}.etrecord")
    ingest(tmp_path / "store", folder, etrecord=MIXED)
    assert set(links(tmp_path / "store").values()) == {MIXED.name}


@pytest.mark.parametrize("batch_files", cross_section([1, 512], 2))
def test_a_damaged_etrecord_is_refused_once_and_its_dumps_are_taken(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, batch_files: int
) -> None:
    monkeypatch.setattr(batches, "BATCH_FILES", batch_files)
    path = write(folder / "net.etrecord", damaged(MIXED))
    steps: list[tuple[int, int]] = []
    summary = ingest(
        tmp_path / "store", folder, progress=lambda p: steps.append((p.done_files, p.total_files))
    )
    assert [(r.source, r.reason) for r in summary.refused] == [(str(path), "etrecord")]
    assert str(path) not in summary.refused[0].detail
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (4, 3, 0)
    assert steps[-1] == (3, 3)
    assert set(links(tmp_path / "store").values()) == {None}
    again = ingest(tmp_path / "store", folder)
    assert (again.n_files, again.n_duplicates, len(again.refused)) == (4, 3, 1)
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        (row,) = warehouse.query("ingest_errors").to_pylist()
    assert (row["source"], row["reason"], row["is_resolved"]) == (str(path), "etrecord", False)


def test_the_unreadable_part_of_an_etrecord_is_named(tmp_path: Path, folder: Path) -> None:
    members = {**read_members(MIXED), "edge_dialect_exported_program/forward": b"{}"}
    write(folder / "net.etrecord", build_zip(members))
    (refusal,) = ingest(tmp_path / "store", folder).refused
    assert f"{folder}/net.etrecord!edge_dialect_exported_program/forward" in refusal.detail


def test_a_repaired_etrecord_is_attached_and_its_refusal_resolved(
    tmp_path: Path, folder: Path
) -> None:
    path = write(folder / "net.etrecord", damaged(MIXED))
    ingest(tmp_path / "store", folder)
    shutil.copy(MIXED, path)
    summary = ingest(tmp_path / "store", folder)
    assert (summary.n_dumps, summary.n_duplicates, summary.refused) == (0, 3, ())
    assert set(links(tmp_path / "store").values()) == {"net.etrecord"}
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        assert warehouse.query("ingest_errors")["is_resolved"].to_pylist() == [True]


@pytest.mark.slow
def test_another_etrecord_replaces_the_first_one_and_is_traced(
    tmp_path: Path, folder: Path
) -> None:
    shutil.copy(MIXED, folder / "net.etrecord")
    ingest(tmp_path / "store", folder)
    shutil.copy(OTHER, folder / "other.etrecord")
    (folder / "net.etrecord").unlink()
    ingest(tmp_path / "store", folder)
    assert set(links(tmp_path / "store").values()) == {"other.etrecord"}
    assert linked(tmp_path / "store") < traced(tmp_path / "store")
    assert len(contents(tmp_path / "store")["etrecords"]) == 2


@pytest.mark.slow
def test_a_run_signature_is_traced_to_each_etrecord_of_its_dumps(tmp_path: Path) -> None:
    for end, record in enumerate((MIXED, OTHER), start=2):
        event = timed("native_call_convolution.out", 1, end, instruction_id=0, chain_index=0)
        write(tmp_path / f"in/{end}.etdp", build_etdump({"run_data": [run(event)]}))
        shutil.copy(record, tmp_path / f"in/{end}.etrecord")
    assert ingest(tmp_path / "store", tmp_path / "in").n_dumps == 2
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        origins = warehouse.sql(
            "SELECT o.op_types FROM event_origins AS o JOIN dumps AS d "
            "ON d.etrecord_id = o.etrecord_id ORDER BY d.source"
        )["op_types"].to_pylist()
    assert len(contents(tmp_path / "store")["run_signatures"]) == 1
    assert origins[0] != origins[1]


@pytest.mark.slow
def test_the_last_of_several_etrecords_for_the_same_bytes_counts_however_often_they_come(
    tmp_path: Path,
) -> None:
    for name, record in (("a", OTHER), ("b", MIXED)):
        write(tmp_path / f"in/{name}.etdp", read_dump("real/mixed_xnnpack_n20"))
        shutil.copy(record, tmp_path / f"in/{name}.etrecord")
    for _ in range(3):
        ingest(tmp_path / "store", tmp_path / "in")
        assert links(tmp_path / "store") == {"a": "b.etrecord"}


@pytest.mark.slow
def test_neither_refused_dumps_nor_conflicts_bring_an_etrecord_in(
    tmp_path: Path, folder: Path
) -> None:
    ingest(tmp_path / "store", folder)
    shutil.copy(MIXED, folder / "net.etrecord")
    write(folder / "bad.etdp", b"x" * 64)
    summary = ingest(tmp_path / "store", folder, manifest={**MANIFEST, "device": "other"})
    assert {r.reason for r in summary.refused} == {"conflict", "bad_identifier"}
    assert set(links(tmp_path / "store").values()) == {None}
    assert contents(tmp_path / "store")["etrecords"] == []


def test_a_reader_reads_each_etrecord_once_and_equal_ones_into_one(tmp_path: Path) -> None:
    paths = [shutil.copy(MIXED, tmp_path / f"{i}.etrecord") for i in range(20)]
    reader = ProgramReader()
    first, *others = [reader.read(file_at(Source(str(path)))) for path in paths]
    assert all(other is first for other in others)
    bad = file_at(Source(str(write(tmp_path / "bad.etrecord", damaged(MIXED)))))
    with pytest.raises(EtRecordError):
        reader.read(bad)
    assert reader.read(bad) is None
