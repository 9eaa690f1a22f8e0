"""Rows of dumps appended to tables that grow large."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from tracehouse.warehouse.engine.connection import registered

ROW_GROUP = 122_880  # rows that DuckDB compresses together

# An empty source that DuckDB cannot split, so that one thread inserts all rows.
_WHOLE = "UNION ALL BY NAME SELECT 0::INTEGER AS dump_id FROM range(0)"


def append_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Append rows of dumps in their order, in the open transaction.

    Each row group should be full before the next begins. Several threads achieve this only if
    each gets complete row groups; otherwise they leave row groups half full, and the file becomes
    up to twice as large. DuckDB uses a second thread if 16 MiB for each column are allowed.
    """
    if not rows.num_rows:
        return
    if rows.num_rows < 2 * ROW_GROUP:
        _insert(connection, table, rows, _WHOLE)
    else:
        pieces = pa.RecordBatchReader.from_batches(rows.schema, _row_groups(rows))
        _insert(connection, table, pieces)


def _row_groups(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows.num_rows, ROW_GROUP):
        yield from rows.slice(first, ROW_GROUP).combine_chunks().to_batches()


def _insert(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    rows: pa.Table | pa.RecordBatchReader,
    extra: str = "",
) -> None:
    with registered(connection, "new_rows", rows):
        text = f"INSERT INTO {table} BY NAME SELECT * FROM new_rows {extra}"  # noqa: S608
        connection.execute(text)
