"""ingest/schemas/dumps.py is the one source of names, types and docs; the DDL says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.schemas.dumps import STORED
from warehouse import Warehouse
from warehouse.engine.sql_types import SQL_TYPES


@pytest.mark.parametrize("table", STORED)
def test_stored_table_is_what_its_schema_says(tmp_path: Path, table: str) -> None:
    schema = STORED[table]
    with Warehouse.open(tmp_path, create=True) as warehouse:
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
