"""Rows of dumps appended to tables that grow large."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from warehouse.engine.connection import registered


def append_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Append rows in their order, each row group filled before the next one.

    Several threads would leave row groups half full, and the file up to twice as large. DuckDB
    inserts in one thread where it has rows to return; the setting `threads` would slow all others
    who use the database.
    """
    if rows.num_rows:
        with registered(connection, "new_rows", rows):
            text = f"INSERT INTO {table} BY NAME SELECT * FROM new_rows RETURNING 1"  # noqa: S608
            connection.execute(text).fetchone()
