from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.planted import COLUMNS, find_planted, full_store, plan_values, plant, verified
from tests.support.stores import writing
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Warehouse
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS
from tracehouse.warehouse.engine.connection import open_reader, use_database
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.load.content import OWN_DECODER, ChildError, Content
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.verification import OWN_COLUMNS, SHARED, Sample, Verification
from tracehouse.warehouse.upkeep.verification_record import read_record, record_verification

DIFFERENT = "rows differ from those that a rebuild gives"
# All dumps, but as a sample, of which tables that have no dumps are not compared.
EACH = Sample(1.0, since=datetime(2000, 1, 1, tzinfo=UTC))
# How a sample differs is seen below by what came after a snapshot.
SAMPLES = [Sample(1.0), pytest.param(EACH, marks=pytest.mark.slow)]
# A dump with another SHA-256 cannot be looked up in the archive; one with another id hides what
# else is wrong with it.
PLACES = [
    (table, column)
    for table in (*TABLES_OF_DUMPS, *SHARED)
    for column in OWN_COLUMNS.get(table, COLUMNS[table])
    if (table, column) not in {("dumps", "sha256"), ("dumps", "dump_id")}
]


@pytest.fixture(scope="module")
def made() -> Path:
    return full_store()


def verify(store: Path, file: Path | None = None, **options: Any) -> Verification:
    """Verify a store's file or another one, such as a snapshot of it."""
    with open_reader(file or store / FILE_NAME) as live:
        use_database(live)
        return verified(live, store, **options)


def spoil(store: Path, *texts: str) -> None:
    with writing(store) as connection:
        for text in texts:
            connection.execute(text)


def test_a_store_after_every_kind_of_upkeep_verifies(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        for table in STORED:
            assert warehouse.sql(f"SELECT 1 AS one FROM {table} LIMIT 1").num_rows  # noqa: S608
    for sample in (Sample(1.0), EACH):
        found = verify(store, sample=sample)
        assert (len(found.dumps), found.damages) == (5, [])


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 30))]
)
def test_a_wrong_value_in_any_column_is_found(made: Path, tmp_path: Path, number: int) -> None:
    choice = random.Random(number)  # noqa: S311 - for a choice of rows
    for places in plan_values(choice, number):
        found = find_planted(made, tmp_path / "store", places, choice)
        assert places.keys() - found == set()


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 12))]
)
def test_a_sample_finds_a_wrong_value_of_its_dumps(store: Path, number: int) -> None:
    """Several at once, in different tables: a verification takes a second."""
    choice = random.Random(number)  # noqa: S311 - for a choice of rows
    places = dict(choice.sample(PLACES, len(PLACES)))
    with writing(store) as connection:
        said = {table: plant(connection, table, column, choice) for table, column in places.items()}
    damages = verify(store, sample=EACH).damages
    found = {table for one in damages for table in one.tables.split(", ")}
    assert {where for table, where in said.items() if table not in found} == set()


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_dump_with_another_id_is_named(store: Path, sample: Sample) -> None:
    spoil(store, "UPDATE dumps SET dump_id = 77 WHERE dump_id = 3")
    damage = verify(store, sample=sample).damages[-1]
    assert damage.dump_id == 77
    assert "dumps" in damage.tables


def test_each_dump_and_table_with_wrong_rows_is_named_until_the_rebuild(store: Path) -> None:
    spoil(
        store,
        "DELETE FROM runs WHERE dump_id = 1 AND run_index = 0",
        "INSERT INTO run_totals SELECT * FROM run_totals WHERE dump_id = 1 LIMIT 1",
        "UPDATE event_stats SET max_ticks = min_ticks, min_ticks = max_ticks WHERE dump_id = 1",
        "UPDATE events SET flags = 4 WHERE dump_id = 3",
        "INSERT INTO run_totals SELECT * REPLACE (99 AS dump_id) FROM run_totals LIMIT 1",
        "UPDATE builds SET ordinal = 77",
        "UPDATE graph_nodes SET op = 'wrong'",
    )
    found = verify(store)
    assert [(damage.dump_id, *damage[3:]) for damage in found.damages] == [
        (1, "runs, event_stats, run_totals", DIFFERENT),
        (3, "events", DIFFERENT),
        (99, "run_totals", DIFFERENT),
        (None, "builds", DIFFERENT),
        (None, "graph_nodes", DIFFERENT),
    ]
    assert found.damages[2].sha256 is None
    assert found.damages[0].source.endswith("0.etdp")
    rebuild_store(store)
    assert verify(store).damages == []


def test_a_rebuild_after_wrong_rows_judges_nights_again(store: Path) -> None:
    rebuild_store(store)
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.sql("SELECT * FROM judged_nights").num_rows == 1
    record_verification(store, set(), dumps={"a": "events"}, tables=[], is_whole=True)
    rebuild_store(store)
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.sql("SELECT * FROM judged_nights").num_rows == 0
    assert verify(store).damages == []
    assert read_record(store).dumps == {}


def test_rows_that_were_lost_are_named(store: Path) -> None:
    spoil(
        store,
        "DELETE FROM dumps WHERE dump_id = 4",
        "DELETE FROM ingest_errors",
        "DELETE FROM group_decisions",
        "DELETE FROM judged_nights",
        "DELETE FROM forgotten_dumps",
    )
    found = verify(store).damages
    assert [(one.dump_id, one.tables) for one in found] == [
        (4, "dumps"),
        *((None, name) for name in STORED if name in {one.tables for one in found[1:]}),
    ]
    assert {"ingest_errors", "group_decisions", "judged_nights", "forgotten_dumps"} <= {
        one.tables for one in found
    }


def test_kept_rows_of_views_that_do_not_follow_from_the_dumps_are_named(store: Path) -> None:
    spoil(store, "UPDATE rows_of_named_event_signatures SET op_type = 'wrong'")
    (damage,) = verify(store).damages
    assert damage.tables == "rows_of_named_event_signatures"


def test_samples_one_after_the_other_have_other_dumps(store: Path) -> None:
    spoil(store, "UPDATE runs SET n_events = 77")
    found = [verify(store, sample=Sample(0.2, number / 5)) for number in (0, 4)]
    assert [len(one.dumps) for one in found] == [1, 1]
    assert len({one.damages[0].dump_id for one in found}) == 2
    later = Sample(1.0, since=datetime.now(UTC) + timedelta(days=1))
    assert verify(store, sample=later) == Verification([], [])


@pytest.mark.parametrize("count", [1, 3, 99, 100, 250])
def test_a_hundred_verification_turns_cover_every_dump(count: int) -> None:
    seen = set()
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE dumps AS SELECT range::INTEGER AS dump_id, 's' AS sha256, 'x' AS source, "
            "now() AS ingested_at FROM range(?)",
            [count],
        )
        for turn in range(100):
            sample = Sample(1 / 100, turn / 100)
            chosen = connection.execute(read_statement("verified_dumps"), sample._asdict())
            ids = {row[0] for row in chosen.fetchall()}
            assert 1 <= len(ids) <= -(-count // 100)
            seen |= ids
    assert seen == set(range(count))


@pytest.mark.parametrize("sample", [Sample(1.0), EACH])
def test_changes_made_after_a_snapshot_are_not_reported_as_differences(
    store: Path, sample: Sample
) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        snapshot = warehouse.snapshot().path
        copy = Path(shutil.copy(snapshot, store.with_name("old.duckdb")))
        writer = warehouse.writing
        warehouse.ingest([tiny_incoming(1)])
        planned = plan_amendments(
            writer, choose_dumps(writer, where={"build": "b1"}), parse_corrections(["build=c1"])
        )
        amend_manifests(writer, store, planned)
    found = verify(store, copy, sample=sample)
    assert (len(found.dumps), found.damages) == (5, [])
    with Warehouse.open_to_write(store) as warehouse:
        chosen = choose_dumps(warehouse.writing, where={"build": "b3"})
        forget_dumps(warehouse.writing, store, chosen)
    found = verify(store, copy, sample=sample)
    assert (len(found.dumps), found.damages) == (4, [])


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_dump_that_the_archive_lost_is_named(store: Path, sample: Sample) -> None:
    Archive(store).segments()[1].path.unlink()
    (damage,) = verify(store, sample=sample).damages
    assert (damage.tables, damage.problem) == (
        "archived_files", "the archive does not have the dump",
    )  # fmt: skip


class _FailingDecoder:
    """Decodes all but one dump."""

    stream, read_program, try_buffers = (
        OWN_DECODER.stream, OWN_DECODER.read_program, OWN_DECODER.try_buffers,
    )  # fmt: skip

    def __init__(self, sha256: str) -> None:
        self._sha256 = sha256

    def decode(self, dumps: Sequence[object]) -> Content:
        if any(getattr(dump, "sha256", "") == self._sha256 for dump in dumps):
            raise ChildError("its decoder died")
        return OWN_DECODER.decode(dumps)  # type: ignore[arg-type]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_dump_that_cannot_be_loaded_any_more_is_named(store: Path, sample: Sample) -> None:
    with open_reader(store / FILE_NAME) as live:
        use_database(live)
        ((sha256,),) = live.execute("SELECT sha256 FROM dumps WHERE dump_id = 2").fetchall()
    found = verify(store, sample=sample, decoder=_FailingDecoder(sha256))
    (damage,) = found.damages
    assert (damage.dump_id, damage.problem) == (2, "the file in the archive cannot be loaded")
