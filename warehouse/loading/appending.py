"""Rows of dumps appended to tables that grow large."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from warehouse.engine.connection import registered

# No rows, of a source that DuckDB cannot cut into numbered pieces: then one thread inserts all.
_WHOLE = "UNION ALL BY NAME SELECT 0::INTEGER AS dump_id FROM range(0)"


def append_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Append rows of dumps, whose ids are in `dump_id`, in their order.

    Each row group is filled before the next one: several threads would leave them half full, and
    the file up to twice as large. The setting `threads` would slow all others who use the database.
    """
    if rows.num_rows:
        with registered(connection, "new_rows", rows):
            text = f"INSERT INTO {table} BY NAME SELECT * FROM new_rows {_WHOLE}"  # noqa: S608
            connection.execute(text)
