"""Stores of other versions are migrated or refused, and lose nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.support.corpus import CORPUS
from tests.support.stores import contents, ingest, make_old, open_now
from tracehouse import Warehouse
from tracehouse.warehouse.engine import migrations
from tracehouse.warehouse.engine.connection import open_memory, use_database
from tracehouse.warehouse.engine.migrations import FIRST_SCHEMA, Migration, migrate, store_in_memory
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import StoreError, StoreVersionError
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

APPLIED = "SELECT number, name FROM schema_migrations ORDER BY number"
PRESENT, SHIPPED = migrations.supported_schema(), migrations.load_migrations()
NEXT = PRESENT + 1
_COLUMNS = (
    "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
    "WHERE database_name = 'warehouse' AND NOT internal AND table_name NOT IN "
    "(SELECT view_name FROM duckdb_views()) ORDER BY table_name, column_index"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a dump in it."""
    folder = tmp_path_factory.mktemp("made")
    ingest(folder / "store", CORPUS / "real" / "mixed_xnnpack_n20.etdp")
    return folder / "store"


@pytest.fixture
def with_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of tracehouse that has a migration."""
    text = "CREATE TABLE toys (name VARCHAR); INSERT INTO toys SELECT name FROM devices"
    more = [*SHIPPED, Migration(NEXT, "toys", text)]
    monkeypatch.setattr(migrations, "load_migrations", lambda: more)


def test_a_store_without_a_migration_says_how_to_rebuild_it(made: Path, store: Path) -> None:
    make_old(store / FILE_NAME)
    before = (store / FILE_NAME).read_bytes()
    wanted = rf"schema {FIRST_SCHEMA - 1}, this one has {PRESENT}\); .* 'tracehouse store rebuild'"
    for read_only in (True, False):
        with pytest.raises(StoreVersionError, match=wanted):
            open_now(store, read_only=read_only)
    assert (store / FILE_NAME).read_bytes() == before
    done = rebuild_store(store)
    assert done.problem == f"{FILE_NAME} is of schema {FIRST_SCHEMA - 1}"
    assert done.kept is not None
    assert contents(store) == contents(made)


def test_a_rebuild_of_another_schema_keeps_dumps_that_the_archive_lacks(store: Path) -> None:
    make_old(store / FILE_NAME)
    with duckdb.connect(str(store / FILE_NAME)) as connection:
        connection.execute("DELETE FROM archived_files")
    with pytest.raises(StoreError, match="1 of its dumps are not in the archive"):
        rebuild_store(store)


@pytest.mark.usefixtures("with_migration")
def test_a_reader_of_an_old_store_says_how_to_migrate_it_and_a_writer_does(
    made: Path, store: Path
) -> None:
    before = (store / FILE_NAME).read_bytes()
    with pytest.raises(
        StoreVersionError,
        match=rf"schema {PRESENT}, this one has {NEXT}\); .* 'tracehouse store migrate'",
    ):
        Warehouse.open(store, read_only=True).schema()
    assert (store / FILE_NAME).read_bytes() == before
    Warehouse.open_to_write(store).close()
    with Warehouse.open(store, read_only=True) as warehouse:
        applied = warehouse.sql(APPLIED).to_pylist()
    assert [(row["number"], row["name"]) for row in applied] == [
        (PRESENT, "tables"),
        (NEXT, "toys"),
    ]
    assert contents(store) == contents(made) | {"toys": [("pixel8",)]}


@pytest.mark.usefixtures("with_migration", "new_stores_are_built")
def test_a_new_store_is_of_the_newest_schema(tmp_path: Path) -> None:
    Warehouse.open_to_write(tmp_path / "new", create=True).close()
    with Warehouse.open(tmp_path / "new", read_only=True) as warehouse:
        assert warehouse.sql(APPLIED)["number"].to_pylist() == [NEXT]


def test_a_migration_that_fails_is_undone(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(store)
    bad = Migration(NEXT, "bad", "CREATE TABLE toys (name VARCHAR); SELECT error('stop')")
    monkeypatch.setattr(migrations, "load_migrations", lambda: [*SHIPPED, bad])
    with pytest.raises(StoreError, match="stop"):
        Warehouse.open_to_write(store)
    monkeypatch.undo()
    Warehouse.open_to_write(store).close()
    assert contents(store) == before


def test_the_migrations_that_ship_follow_the_first_schema() -> None:
    numbers = [migration.number for migration in migrations.load_migrations()]
    assert numbers == list(range(FIRST_SCHEMA + 1, PRESENT + 1))


@pytest.mark.slow
def test_tables_are_described_as_this_version_does(tmp_path: Path) -> None:
    Warehouse.open_to_write(tmp_path, create=True).close()
    with Warehouse.open(tmp_path, read_only=True) as warehouse:
        expected = warehouse.schema()
    with duckdb.connect(str(tmp_path / FILE_NAME)) as connection:
        connection.execute("COMMENT ON TABLE runs IS 'what an older version said'")
        connection.execute("COMMENT ON COLUMN schema_views.sha256 IS NULL")
        connection.execute("UPDATE schema_views SET sha256 = 'an older version''s'")
    Warehouse.open_to_write(tmp_path).close()
    with Warehouse.open(tmp_path, read_only=True) as warehouse:
        assert warehouse.schema().table.equals(expected.table)


def test_a_store_in_memory_has_the_tables_of_a_store_and_no_views() -> None:
    with closing(open_memory()) as stored, closing(store_in_memory()) as found:
        use_database(stored)
        migrate(stored)
        for text in (_COLUMNS, APPLIED):
            assert found.sql(text).fetchall() == stored.sql(text).fetchall() != []
        assert found.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
