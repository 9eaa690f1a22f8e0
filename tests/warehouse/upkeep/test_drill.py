from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest

from tests.support.planted import COLUMNS, make_full_store, plant
from tests.support.stores import writing
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS
from tracehouse.warehouse.engine.connection import open_reader, use_database
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.load.content import Content
from tracehouse.warehouse.load.decoders import OWN_DECODER
from tracehouse.warehouse.load.isolate import ChildError
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.archive_decoder import OWN_COLUMNS, SHARED
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.drill import drill, sample_of
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.verification import ALL, Verification

# A dump with another SHA-256 cannot be looked up in the archive, which `verify` finds; one with
# another id hides what else is wrong with it.
PLACES = [
    (table, column)
    for table in (*TABLES_OF_DUMPS, *SHARED)
    for column in OWN_COLUMNS.get(table, COLUMNS[table])
    if (table, column) not in {("dumps", "sha256"), ("dumps", "dump_id")}
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_full_store(tmp_path_factory.mktemp("made"))


def drilled(store: Path, file: Path | None = None) -> Verification:
    """The drill of all dumps, on the store's file or another one, such as a snapshot of it."""
    scratch = store.with_name("scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    with open_reader(file or store / FILE_NAME) as live:
        use_database(live)
        return drill(live, store, scratch, sample=ALL, decoder=OWN_DECODER)


def test_nothing_differs_in_a_store_that_went_through_everything(store: Path) -> None:
    assert drilled(store) == Verification(5, 5, [])


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 12))]
)
def test_a_wrong_value_in_any_column_is_found(store: Path, number: int) -> None:
    """Several at once, in different tables: a drill takes a second."""
    choice = random.Random(number)  # noqa: S311 - for a choice of rows
    places = dict(choice.sample(PLACES, len(PLACES)))
    with writing(store) as connection:
        said = {table: plant(connection, table, column, choice) for table, column in places.items()}
    found = {table for one in drilled(store).damages for table in one.tables.split(", ")}
    assert {where for table, where in said.items() if table not in found} == set()


def test_a_dump_with_another_id_is_named(store: Path) -> None:
    with writing(store) as connection:
        connection.execute("UPDATE dumps SET dump_id = 77 WHERE dump_id = 3")
    (damage,) = drilled(store).damages
    assert damage.dump_id == 77
    assert "dumps" in damage.tables


def test_rows_that_were_altered_are_named_with_the_remedy(store: Path) -> None:
    with writing(store) as connection:
        connection.execute(
            "UPDATE events SET duration_ticks = duration_ticks + 1 WHERE dump_id = 3"
        )
        connection.execute("DELETE FROM event_stats WHERE dump_id = 3")
    found = drilled(store)
    ((damage,), sha256) = (found.damages, found.damages[0].sha256)
    assert (damage.dump_id, damage.tables) == (3, "events, event_stats")
    assert damage.problem == "rows differ from those that a rebuild gives"
    assert found.remedy == f"tracehouse store rebuild --dumps {str(sha256)[:16]}"


def test_what_came_after_a_snapshot_is_no_difference(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        snapshot = warehouse.snapshot().path
        copy = Path(shutil.copy(snapshot, store.with_name("old.duckdb")))
        writer = warehouse.writing
        warehouse.ingest([tiny_incoming(1)])
        planned = plan_amendments(
            writer, choose_dumps(writer, where={"build": "b1"}), parse_corrections(["build=c1"])
        )
        amend_manifests(writer, store, planned)
        forget_dumps(writer, store, choose_dumps(writer, where={"build": "b3"}))
    found = drilled(store, copy)
    assert (found.n_dumps, found.n_decoded, found.damages) == (5, 4, [])


def test_a_dump_that_the_archive_lost_is_named(store: Path) -> None:
    segments = Archive(store).segments()
    segments[1].path.unlink()
    found = drilled(store)
    (damage,) = found.damages
    assert (damage.tables, damage.problem) == (
        "archived_files", "the archive does not have the dump",
    )  # fmt: skip
    assert (found.n_decoded, found.remedy) == (4, "tracehouse store rebuild")


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


def test_a_dump_that_cannot_be_loaded_any_more_is_named(store: Path, tmp_path: Path) -> None:
    with open_reader(store / FILE_NAME) as live:
        use_database(live)
        ((sha256,),) = live.execute("SELECT sha256 FROM dumps WHERE dump_id = 2").fetchall()
        (tmp_path / "scratch").mkdir()
        decoder = _FailingDecoder(sha256)
        found = drill(live, store, tmp_path / "scratch", sample=ALL, decoder=decoder)
    (damage,) = found.damages
    assert (damage.dump_id, damage.problem) == (2, "the file in the archive cannot be loaded")
    assert found.n_decoded == 4


@pytest.mark.parametrize("count", [1, 3, 99, 100, 250])
def test_a_hundred_nights_have_every_dump_and_each_night_has_one(count: int) -> None:
    first, seen = date(2026, 11, 29), set()
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE dumps AS SELECT range::INTEGER AS dump_id, 's' AS sha256, 'x' AS source, "
            "now() AS ingested_at FROM range(?)",
            [count],
        )
        # A round of nights begins where the number of the day is a multiple of a hundred.
        first -= timedelta(days=first.toordinal() % 100)
        for night in range(100):
            sample = sample_of(first + timedelta(days=night))
            chosen = connection.execute(read_statement("verified_dumps"), sample._asdict())
            ids = {row[0] for row in chosen.fetchall()}
            assert 1 <= len(ids) <= -(-count // 100)
            seen |= ids
    assert seen == set(range(count))


def test_a_night_has_always_the_same_dumps_and_rounds_differ() -> None:
    night = date(2026, 11, 29)
    assert sample_of(night) == sample_of(night)
    rounds = [
        [sample_of(night + timedelta(days=100 * turn + day)).start for day in range(100)]
        for turn in range(2)
    ]
    assert rounds[0] != rounds[1]
