from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.kills import environment
from tests.support.lakes import files_of, rows_of
from tests.support.stores import COUNTERS, MANIFEST, ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.lake import exporting
from tracehouse.warehouse.lake.commits import read_state
from tracehouse.warehouse.lake.exporting import ExportProgress, ExportSummary
from tracehouse.warehouse.lake.layout import COMMITS, PLANS, SHARED_TABLES, TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

DUMPS = ("mixed_portable_n20", "mixed_xnnpack_n20", "multiout_portable_n3_debug")
OWN = {
    "device": "secret", "build": "secret_build", "model": "secret_model", "counters": COUNTERS,
}  # fmt: skip
# What is not the same however often the same is stored.
TIMES = {"ingested_at", "refused_at", "dropped_at", "forgotten_at"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three dumps, two with an ETRecord and one with a debug buffer, and a refusal."""
    folder = tmp_path_factory.mktemp("made")
    for name in DUMPS:
        write(folder / f"{name}.etdp", read_dump(f"real/{name}"))
        if name.startswith("mixed"):
            shutil.copy(MODELS / "mixed_xnnpack.etrecord", folder / f"{name}.etrecord")
    shutil.copy(CORPUS / f"real/{DUMPS[2]}.debug.bin", folder)
    write(folder / "cut.etdp", read_dump(f"real/{DUMPS[0]}")[:500])
    for name in (*DUMPS, "cut"):
        own = {} if name == DUMPS[2] else {"captured_at": "2026-03-01T23:59:59Z"}
        facts = OWN if name == DUMPS[1] else MANIFEST
        write(folder / f"{name}.json", json.dumps(facts | own).encode())
    files = [folder / f"{name}.etdp" for name in (*DUMPS, "cut")]
    ingest(folder / "store", *files, manifest=None)
    return folder / "store"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def export(store: Path, place: Path) -> ExportSummary:
    with Warehouse.open(store, read_only=True) as warehouse:
        return warehouse.export_lake(place)


@pytest.fixture(scope="module")
def exported(made: Path) -> Path:
    """A lake of that store; only for reading."""
    place = made.with_name("lake")
    export(made, place)
    return place


@pytest.fixture
def filled(exported: Path, place: Path) -> Path:
    """The same, for a test's own."""
    return Path(shutil.copytree(exported, place))


def contents(asked: Warehouse) -> dict[str, list[str]]:
    """Rows of all tables, told without numbers of a store's own."""
    found: dict[str, list[str]] = {table: [] for table in TABLES}
    texts = []
    for table in TABLES:
        own = [n for n in TABLES[table].names if n not in {"device_id", "build_id", "model_id"}]
        columns = [n for n in own if n not in TIMES and n != "dump_id"]
        named = "t.dump_id = d.dump_id" if "dump_id" in own else "false"
        values = ", ".join(["d.sha256", *(f"t.{name}" for name in columns)])
        texts.append(
            f"SELECT '{table}' AS name, CAST(row({values}) AS VARCHAR) AS text "  # noqa: S608
            f"FROM {table} AS t LEFT JOIN dumps AS d ON {named}"
        )
    for row in asked.sql(" UNION ALL ".join(texts)).to_pylist():
        found[row["name"]].append(row["text"])
    return {table: sorted(rows) for table, rows in found.items()}


def check_equal(store: Path, place: Path) -> None:
    with Warehouse.open(store, read_only=True) as own, Warehouse.open_lake(place) as shared:
        wanted, found = contents(own), contents(shared)
        for name in sorted(wanted):
            assert found[name] == wanted[name], name
        text = "SELECT sha256, device, build, model FROM named_dumps ORDER BY sha256"
        assert shared.sql(text).to_pylist() == own.sql(text).to_pylist()
    assert verify_lake(Lake(place)) == []


def correct(store: Path, *stated: str) -> None:
    with Warehouse.open(store) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"device": "secret"})
        planned = plan_amendments(warehouse.writing, dumps, parse_corrections(stated))
        amend_manifests(warehouse.writing, store, planned)


def forget(store: Path) -> None:
    with Warehouse.open(store) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"device": "secret"})
        forget_dumps(warehouse.writing, store, dumps)


def drop_events(store: Path) -> None:
    with Warehouse.open(store) as warehouse:
        old = find_old_events(warehouse.writing, days=0)
        drop_old_events(warehouse.writing, store, old)


def test_a_lake_is_the_store_and_only_what_is_new_is_written(
    store: Path, place: Path, tmp_path: Path
) -> None:
    done = export(store, place)
    assert (done.new_dumps, done.changed_dumps, done.forgotten_dumps) == (3, 0, 0)
    dates = {file.path.split("/")[1] for file in files_of(place, "dumps")}
    assert dates == {"date=unknown", "date=2026-03-01"}
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    assert export(store, place) == ExportSummary()
    assert {p: p.stat().st_mtime_ns for p in place.rglob("*") if p.is_file()} == before
    ingest(store, write(tmp_path / "new.etdp", read_dump("real/cnn_portable_n20")))
    assert export(store, place).new_dumps == 1
    check_equal(store, place)
    for table in ("devices", "builds", "models", "event_signatures", "run_signatures"):
        rows = [repr([row[key] for key in SHARED_TABLES[table]]) for row in rows_of(place, table)]
        assert len(rows) == len(set(rows)), table


@pytest.mark.slow
def test_progress_tells_how_many_dumps_of_all_are_written(
    store: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "PART_EVENTS", 1)
    told: list[ExportProgress] = []
    with Warehouse.open(store, read_only=True) as warehouse:
        done = warehouse.export_lake(place, progress=told.append)
    assert [(one.done_files, one.total_files) for one in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[-1].n_events == done.events > 0


@pytest.mark.slow
@pytest.mark.parametrize("change", ["model=mv3", "captured_at=2026-04-01"])
def test_corrections_reach_the_lake(store: Path, filled: Path, change: str) -> None:
    correct(store, change)
    done = export(store, filled)
    assert (done.new_dumps, done.changed_dumps) == (0, 1)
    check_equal(store, filled)
    back = {"b": "build=secret_build", "m": "model=secret_model"}
    correct(store, back.get(change[0], "captured_at=2026-03-01T23:59:59Z"))
    assert export(store, filled).changed_dumps == 1
    check_equal(store, filled)


@pytest.mark.slow
def test_companions_that_came_later_reach_the_lake_and_are_not_taken_from_it(
    store: Path, place: Path, tmp_path: Path
) -> None:
    dump = write(tmp_path / "new.etdp", read_dump("real/multiout_portable_n3"))
    other = Path(shutil.copytree(store, tmp_path / "other"))
    for one in (store, other):
        ingest(one, dump)
    export(store, place)
    shutil.copy(MODELS / "multiout_portable.etrecord", dump.with_suffix(".etrecord"))
    ingest(store, dump)
    assert export(store, place).changed_dumps == 1
    check_equal(store, place)
    assert export(other, place).changed_dumps == 0
    check_equal(store, place)


@pytest.mark.slow
def test_corrected_dumps_keep_events_that_only_the_lake_has(store: Path, filled: Path) -> None:
    before = len(rows_of(filled, "events"))
    drop_events(store)
    correct(store, "model=mv3")
    assert export(store, filled).changed_dumps == 1
    assert len(rows_of(filled, "events")) == before
    assert verify_lake(Lake(filled)) == []


@pytest.mark.slow
def test_events_that_were_dropped_before_are_on_record_as_missing(store: Path, place: Path) -> None:
    drop_events(store)
    export(store, place)
    check_equal(store, place)
    with Warehouse.open_lake(place) as lake:
        assert b"3 of" in lake.query("percentiles").schema.metadata[b"note"]


@pytest.mark.slow
def test_forgotten_dumps_leave_nothing_in_the_files_of_the_lake(store: Path, filled: Path) -> None:
    forget(store)
    done = export(store, filled)
    assert (done.new_dumps, done.changed_dumps, done.forgotten_dumps) == (0, 0, 1)
    check_equal(store, filled)
    kept = read_state(Lake(filled)).files
    for table in TABLES:
        assert "secret" not in repr(rows_of(filled, table)), table
    assert any("secret" in str(p) for p in filled.rglob("*.parquet"))  # until it is compacted
    assert not any("secret" in path for path in kept)


@pytest.mark.slow
def test_a_store_that_is_written_meanwhile_is_exported_as_it_was(
    store: Path, place: Path, tmp_path: Path
) -> None:
    with Warehouse.open(store) as warehouse:
        file = write(tmp_path / "new.etdp", read_dump("real/cnn_portable_n20"))
        warehouse.ingest([file], manifest=MANIFEST)
        assert warehouse.export_lake(place).new_dumps == 4
    check_equal(store, place)


EXPORT = """
import sys
from tracehouse import Warehouse
with Warehouse.open(sys.argv[1], read_only=True) as warehouse:
    warehouse.export_lake(sys.argv[2])
"""


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("point", ["lake file:1", "lake file:30", "lake commit:1"])
def test_an_export_that_is_killed_leaves_no_trace(store: Path, place: Path, point: str) -> None:
    kill_export(store, place, point)
    assert files_of(place, "dumps") == []
    kill_export(store, place, "lake committed:1")
    check_equal(store, place)
    assert export(store, place) == ExportSummary()
    assert not any((place / PLANS).iterdir())
    assert len(list((place / COMMITS).iterdir())) == 1


def kill_export(store: Path, place: Path, point: str) -> None:
    args = [sys.executable, "-c", EXPORT, str(store), str(place)]
    assert subprocess.run(args, env=os.environ | environment(point)).returncode == -9


@pytest.mark.system
@pytest.mark.slow
def test_a_correction_that_is_killed_is_made_by_the_next_export(store: Path, filled: Path) -> None:
    correct(store, "model=mv3")
    for point in ("lake file:4", "lake commit:1"):
        kill_export(store, filled, point)
        with Warehouse.open_lake(filled) as lake:
            assert set(lake.query("dumps")["model"].to_pylist()) == {"mv2", "secret_model"}
    assert export(store, filled).changed_dumps == 1
    check_equal(store, filled)
