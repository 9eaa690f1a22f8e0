"""No table that grows with the dumps has an index, a primary key or a unique constraint.

Keys and unique hashes of a million dumps took 122 MB instead of 35; the single writer looks up by
itself which rows it has.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.support.stores import ingest, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.engine.connection import open_reader, use_database
from tracehouse.warehouse.engine.migrations import store_in_memory
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.engine.tables import TABLES
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.upkeep.compact import compact_store, request_compaction
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

# A few rows per device, build, model or decision; every other table has rows per dump or event.
SMALL = {
    *("devices", "builds", "models", "build_order"),
    *("group_decisions", "judged_nights"),
    *("schema_migrations", "schema_views"),
}
KEYS = """
SELECT table_name, 'the index ' || index_name FROM duckdb_indexes()
WHERE database_name = current_database()
UNION ALL SELECT table_name, constraint_text FROM duckdb_constraints()
WHERE database_name = current_database() AND constraint_type <> 'NOT NULL'
ORDER BY ALL
"""


def find_keys(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Indexes and constraints of big tables; a new table is big unless it is listed above."""
    found = connection.execute(KEYS).fetchall()
    return [(table, key) for table, key in found if table not in SMALL]


def find_keys_of(file: Path) -> list[tuple[str, str]]:
    with open_reader(file) as connection:
        use_database(connection)
        return find_keys(connection)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(0)), snapshot=True)
    return tmp_path / "store"


@pytest.mark.usefixtures("new_stores_are_built")
def test_a_new_store_has_no_keys(tmp_path: Path) -> None:
    Warehouse.open_to_write(tmp_path / "new", create=True).close()
    assert find_keys_of(tmp_path / "new" / FILE_NAME) == []


def test_snapshots_and_compacted_or_rebuilt_stores_have_no_keys(store: Path) -> None:
    (snapshot,) = find_snapshots(store)
    assert find_keys_of(snapshot.path) == []
    request_compaction(store)  # so that the copy is used although it is not smaller
    compact_store(store)
    assert find_keys_of(store / FILE_NAME) == []
    rebuild_store(store)
    assert find_keys_of(store / FILE_NAME) == []


@pytest.mark.parametrize("table", ["events", "dumps", "run_totals", "event_stats"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX one ON {0} (dump_id)",
        "CREATE UNIQUE INDEX one ON {0} (dump_id)",
        "ALTER TABLE {0} ADD PRIMARY KEY (dump_id)",
        "CREATE OR REPLACE TABLE {0} (dump_id INTEGER UNIQUE)",
        "CREATE OR REPLACE TABLE {0} (dump_id INTEGER PRIMARY KEY)",
    ],
)
def test_each_kind_of_key_would_be_found(table: str, statement: str) -> None:
    with store_in_memory() as connection:
        assert find_keys(connection) == []
        connection.execute(statement.format(table))
        assert {name for name, _ in find_keys(connection)} == {table}


def test_the_small_tables_exist() -> None:
    assert set(TABLES) >= SMALL
