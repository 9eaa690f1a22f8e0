from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.store_rows import Event, StoreRows, run_query
from tests.support.stores import COUNTERS, MANIFEST, contents, everything, ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep import retain
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events, sum_by_build

LONG = 200
OLD = (datetime.now(UTC) - timedelta(days=100)).isoformat()
FACTS: dict[str, dict[str, Any]] = {
    "mixed_portable_n20": {"captured_at": OLD, "counters": COUNTERS},
    "mixed_xnnpack_n20": {"captured_at": OLD, "build": "v2"},
    "cnn_portable_n20": {},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two old dumps, of b1 and v2, and a new one."""
    folder = tmp_path_factory.mktemp("made")
    for name, facts in FACTS.items():
        write(folder / f"in/{name}.etdp", read_dump(f"real/{name}"))
        write(folder / f"in/{name}.json", json.dumps(MANIFEST | facts).encode())
    files = [folder / f"in/{name}.etdp" for name in FACTS]
    ingest(folder / "store", *files, manifest=None)
    return folder / "store"


def drop(store: Path, kept_builds: str | None = None) -> list[int]:
    with Warehouse.open_to_write(store) as warehouse:
        old = find_old_events(warehouse.writing, days=90, kept_builds=kept_builds)
        drop_old_events(warehouse.writing, store, old)
    return [int(id_) for id_ in old["dump_id"].to_pylist()]


def test_events_of_old_dumps_go_and_nothing_else(store: Path) -> None:
    before = contents(store)
    assert len(before["counters"]) == 3
    assert drop(store, "v*") == [1]
    after = contents(store)
    assert {row[0] for row in after["events"]} == {"2", "3"}
    assert [row[0] for row in after["dropped_events"]] == ["1"]
    changed = {"events", "dropped_events", "event_histograms"}
    for name in before.keys() - changed - {"dump_digests"}:
        assert after[name] == before[name], name
    assert drop(store, "v*") == []
    assert drop(store) == [2]


def test_events_are_dropped_some_dumps_at_a_time(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retain, "_MOST_DUMPS", 1)
    seen: list[tuple[int, int]] = []

    def stop_after_one(progress: IngestProgress) -> None:
        seen.append((progress.done_files, progress.total_files))
        raise StoreError(str(store), "the service ends")

    with Warehouse.open_to_write(store) as warehouse:
        old = find_old_events(warehouse.writing, days=90)
        with pytest.raises(StoreError, match="the service ends"):
            drop_old_events(warehouse.writing, store, old, progress=stop_after_one)
        assert seen == [(1, 2)]
        assert find_old_events(warehouse.writing, days=90)["dump_id"].to_pylist() == [2]
    assert drop(store) == [2]
    assert all(table.is_equal for table in rebuild_store(store).tables)


@pytest.mark.slow
def test_dropped_events_stay_away_and_their_percentiles_can_be_approximated(store: Path) -> None:
    drop(store)
    before = everything(store)
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert everything(store) == before
    with Warehouse.open(store, read_only=True) as warehouse:
        answer = warehouse.query("percentiles", approx=True)
    assert set(answer["missing_count"].to_pylist()) == {0}


@pytest.mark.slow
def test_dropped_events_of_a_dump_that_the_archive_got_later_stay_away(tmp_path: Path) -> None:
    file = write(tmp_path / "a.etdp", read_dump("real/load_only"))
    store, manifest = tmp_path / "store", MANIFEST | {"captured_at": OLD}
    ingest(store, file, manifest=manifest)
    shutil.rmtree(store / "archive")
    assert drop(store) == [1]
    ingest(store, file, manifest=manifest)
    before = everything(store)
    rebuild_store(store)
    after = everything(store)
    assert before.pop("archive_segments") == [("1", "1"), *after.pop("archive_segments")]
    assert after == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed_xnnpack_n20", "mixed_portable_n20"])
def test_an_etrecord_that_comes_after_events_were_dropped_tells_the_same(
    store: Path, tmp_path: Path, name: str
) -> None:
    file = write(tmp_path / f"{name}.etdp", read_dump(f"real/{name}"))
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", file.with_suffix(".etrecord"))
    whole = Path(shutil.copytree(store, tmp_path / "whole"))
    drop(store)
    for one in (store, whole):
        done = ingest(one, file, manifest=MANIFEST | FACTS[name])
        assert (done.n_duplicates, done.refused) == (1, ())
    ours, theirs = contents(store), contents(whole)
    assert ours["event_origins"] == theirs["event_origins"] != []
    assert ours["event_modules"] == theirs["event_modules"]


def test_events_that_retention_would_drop_are_summed_by_build(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        sums = sum_by_build(find_old_events(warehouse.writing, days=0)).to_pylist()
        old = find_old_events(warehouse.writing, days=10**12)
    assert old.num_rows == 0
    assert [(row["build"], row["dump_count"]) for row in sums] == [("b1", 2), ("v2", 1)]
    assert all(row["event_count"] > 100 and row["event_bytes"] > 100 for row in sums)


@pytest.mark.slow
def test_answers_that_miss_dropped_events_say_so(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        assert not warehouse.query("percentiles").schema.metadata
    drop(store)
    with Warehouse.open(store, read_only=True) as warehouse:
        for answer in (
            warehouse.query("percentiles"),
            warehouse.query("event_blocks", dump=1),
            warehouse.sql("SELECT count(*) FROM named_events"),
            warehouse.sql("SELECT 1 FROM dumps, events LIMIT 1"),
        ):
            assert answer.schema.metadata[b"note"].startswith(b"2 of the store's dumps have no raw")
        for complete in (
            warehouse.query("dumps"),
            warehouse.sql("SELECT events FROM runs, run_signatures"),
        ):
            assert not complete.schema.metadata


def test_dumps_with_histograms_answer_the_same_without_their_events() -> None:
    rows = StoreRows()
    for count in (LONG, 3, 4):
        dump = rows.add_dump()
        for run in range(count):
            rows.add_run(dump, [Event("Method::execute", 100 * count + run, 0)])
    connection = rows.connect()
    (before,) = run_query(connection, "percentiles", approx=True)
    fill = read_statement("fill_histograms")
    connection.execute(fill, {"dumps": [1, 2]})
    connection.execute(fill, {"dumps": [2]})
    connection.execute("DELETE FROM events WHERE dump_id <= 2")
    assert run_query(connection, "percentiles", approx=True) == [before]
    assert before["missing_count"] == 0
    text = "SELECT dump_id, sum(event_count)::INT FROM event_histograms GROUP BY 1 ORDER BY 1"
    assert connection.execute(text).fetchall() == [(1, LONG), (2, 3)]
