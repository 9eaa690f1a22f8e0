from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.corpus import read_dump
from tests.support.planted import find_planted, make_full_store, plan_values
from tests.support.stores import ingest, write
from tracehouse import Warehouse
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.upkeep import archive_decoder
from tracehouse.warehouse.upkeep.archived_dumps import ArchivedDump, read_archived
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.reload import reload_dumps
from tracehouse.warehouse.upkeep.verification import (
    Damage,
    Sample,
    Verification,
    find_remedy,
    verify_store,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_full_store(tmp_path_factory.mktemp("made"))


def verify(store: Path, **options: Sample) -> Verification:
    with Warehouse.open_to_write(store) as warehouse:
        return verify_store(warehouse.writing, store, **options)


def spoil(store: Path, *texts: str) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        for text in texts:
            warehouse.writing.execute(text)


def damaged(store: Path) -> list[tuple[int, str]]:
    with Warehouse.open(store, read_only=True) as warehouse:
        found = warehouse.sql("SELECT dump_id, damaged FROM dump_digests WHERE damaged IS NOT NULL")
        return [(row["dump_id"], row["damaged"]) for row in found.to_pylist()]


def test_nothing_is_wrong_with_a_store_that_went_through_everything(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        for table in STORED:
            assert warehouse.sql(f"SELECT 1 AS one FROM {table} LIMIT 1").num_rows  # noqa: S608
    assert verify(store) == Verification(5, 5, [])


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 30))]
)
def test_a_wrong_value_in_any_column_is_found(made: Path, tmp_path: Path, number: int) -> None:
    choice = random.Random(number)  # noqa: S311 - for a choice of rows
    for places in plan_values(choice, number):
        found = find_planted(made, tmp_path / "store", places, choice)
        assert places.keys() - found == set()


def test_rows_that_changed_are_named_with_the_command_that_mends_them(store: Path) -> None:
    spoil(store, "UPDATE events SET duration_ticks = duration_ticks + 1 WHERE dump_id = 3")
    found = verify(store)
    ((damage,), sha256) = (found.damages, found.damages[0].sha256)
    assert damage[3:] == ("events", "rows were changed since they were written")
    assert found.remedy == f"tracehouse store rebuild --dumps {str(sha256)[:16]}"
    assert damaged(store) == [(3, "events")]
    with Warehouse.open_to_write(store) as warehouse:
        chosen = choose_dumps(warehouse.writing, prefix=sha256)
        (mended,) = reload_dumps(warehouse.writing, store, chosen)
    assert mended.changed_tables == "events"
    assert damaged(store) == []
    assert verify(store).damages == []


def test_each_dump_and_table_is_named_with_what_is_wrong(store: Path) -> None:
    spoil(
        store,
        "DELETE FROM runs WHERE dump_id = 1 AND run_index = 0",
        "INSERT INTO run_totals SELECT * FROM run_totals WHERE dump_id = 1 LIMIT 1",
        "UPDATE event_stats SET max_ticks = min_ticks, min_ticks = max_ticks WHERE dump_id = 1",
        "UPDATE events SET flags = 4 WHERE dump_id = 3",  # as if it had been written so
        "DELETE FROM dump_digests WHERE dump_id = 3",
        "UPDATE dump_digests SET events = 1 WHERE dump_id = 4",
        "INSERT INTO run_totals SELECT * REPLACE (99 AS dump_id) FROM run_totals LIMIT 1",
        "UPDATE builds SET ordinal = 77",
        "UPDATE graph_nodes SET op = 'wrong'",
    )
    found = verify(store)
    assert [(damage.dump_id, *damage[3:]) for damage in found.damages] == [
        (1, "runs, event_stats, run_totals", "rows were changed since they were written"),
        (3, "events", "rows differ from what the archive decodes to"),
        (4, "dump_digests", "the digest of events was changed, the rows agree with the archive"),
        (99, "run_totals", "rows of a dump that is not there"),
        (None, "builds", "rows do not follow from the rows of the dumps"),
        (None, "graph_nodes", "rows differ from the archive"),
    ]
    assert found.damages[3].sha256 is None
    assert found.remedy == "tracehouse store rebuild"
    rebuild_store(store)
    assert verify(store).damages == []


def test_dumps_of_an_earlier_release_get_digests(store: Path) -> None:
    spoil(store, "DELETE FROM dump_digests")
    assert verify(store).damages == []
    spoil(store, "DELETE FROM event_stats WHERE dump_id = 3")
    assert [one.tables for one in verify(store).damages] == ["event_stats"]


def test_samples_one_after_the_other_cover_all_dumps(store: Path) -> None:
    spoil(store, "UPDATE runs SET n_events = 77")
    found = [verify(store, sample=Sample(0.2, number / 5)) for number in range(5)]
    assert [one.n_dumps for one in found] == [1] * 5
    assert len({one.damages[0].dump_id for one in found}) == 5
    later = Sample(1.0, since=datetime.now(UTC) + timedelta(days=1))
    assert verify(store, sample=later) == Verification(0, 0, [])


def test_dumps_without_archive_are_compared_with_their_digests(tmp_path: Path) -> None:
    file = write(tmp_path / "a.etdp", read_dump("real/mixed_portable_n20"))
    ingest(tmp_path / "store", file, archive=False)
    assert verify(tmp_path / "store") == Verification(1, 0, [])
    spoil(tmp_path / "store", "UPDATE dumps SET source = 'b'")
    (damage,) = verify(tmp_path / "store").damages
    assert (damage.source, damage.tables) == ("b", "dumps")


def test_a_store_without_archive_may_forget_its_dumps(tmp_path: Path) -> None:
    ingest(tmp_path / "s", write(tmp_path / "a.etdp", read_dump("real/load_only")), archive=False)
    with Warehouse.open_to_write(tmp_path / "s") as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"model": "mv2"})
        forget_dumps(warehouse.writing, tmp_path / "s", dumps)
    assert verify(tmp_path / "s").damages == []


def test_the_remedy_names_a_few_dumps_that_the_archive_has_or_mends_the_whole_store() -> None:
    damages = [Damage(n, f"{n:016}" * 4, "a.etdp", "events", "changed") for n in range(21)]
    hashes = [str(one.sha256) for one in damages]
    assert find_remedy([], hashes) == ""
    few = f"tracehouse store rebuild --dumps {0:016} --dumps {1:016}"
    assert find_remedy(damages[:2], hashes) == few
    assert find_remedy(damages[:2], hashes[:1]) == "tracehouse store rebuild"
    assert find_remedy(damages, hashes) == "tracehouse store rebuild"


def test_a_file_of_the_archive_that_cannot_be_decoded_is_named(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_wrong(dumps: Iterable[ArchivedDump]) -> Iterator[Entry]:
        for entry in read_archived(dumps):
            is_wrong = entry.ids is not None and entry.ids.dump == 3
            yield entry._replace(data=memoryview(b"no dump")) if is_wrong else entry

    monkeypatch.setattr(archive_decoder, "read_archived", read_wrong)
    found = verify(store)
    assert [damage[0] for damage in found.damages] == [3]
    assert found.damages[0].problem == "the file in the archive cannot be decoded"
    assert (found.n_decoded, found.remedy) == (4, "tracehouse store rebuild")
