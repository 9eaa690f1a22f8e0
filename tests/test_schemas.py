"""A table's schema is the one source of its names, types and meaning; every store says the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracehouse import Warehouse
from tracehouse.warehouse.engine.tables import SQL_TYPES, TABLES


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A new store, open."""
    path = tmp_path_factory.mktemp("schemas") / "store"
    Warehouse.open_to_write(path, create=True).close()
    with Warehouse.open(path, read_only=True) as opened:
        yield opened


@pytest.mark.store
def test_every_stored_table_has_a_schema(warehouse: Warehouse) -> None:
    names = warehouse.sql("SELECT table_name FROM duckdb_tables() WHERE NOT internal")
    assert set(names["table_name"].to_pylist()) == TABLES.keys()


@pytest.mark.parametrize("table", TABLES)
def test_stored_table_is_what_its_schema_says(warehouse: Warehouse, table: str) -> None:
    schema = TABLES[table]
    columns = warehouse.sql(
        "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() "  # noqa: S608
        f"WHERE table_name = '{table}' ORDER BY column_index"
    ).to_pylist()
    comment = warehouse.sql(
        f"SELECT comment FROM duckdb_tables() WHERE table_name = '{table}'"  # noqa: S608
    )["comment"].to_pylist()
    assert columns == [
        {
            "column_name": field.name,
            "data_type": SQL_TYPES[field.type],
            "is_nullable": field.nullable,
            "comment": field.metadata[b"doc"].decode(),
        }
        for field in schema
    ]
    assert comment == [schema.metadata[b"doc"].decode()]
