"""Rows of dumps appended to tables that grow large, with the digests of the rows."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from tracehouse.warehouse.engine.connection import insert_rows, registered
from tracehouse.warehouse.engine.digests import Digests

ROW_GROUP = 122_880  # rows that DuckDB compresses together

# An empty source that DuckDB cannot split, so that one thread inserts all rows.
_WHOLE = "UNION ALL BY NAME SELECT 0::INTEGER AS dump_id FROM range(0)"


class Appender:
    """Appends the rows of new dumps in one transaction.

    Attributes:
        connection: The store's writing connection, for statements about the same dumps.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection, self._digests = connection, Digests()

    def append(self, table: str, rows: pa.Table) -> None:
        """Append rows of dumps, whose ids are in `dump_id`, in their order.

        Each row group should be full before the next begins. Several threads achieve this only if
        each gets complete row groups; otherwise they leave row groups half full, and the file
        becomes up to twice as large. DuckDB uses a second thread if 16 MiB for each column are
        allowed.
        """
        if not rows.num_rows:
            return
        self._digests.add(table, rows)
        if rows.num_rows < 2 * ROW_GROUP:
            _insert(self.connection, table, rows, _WHOLE)
        else:
            pieces = pa.RecordBatchReader.from_batches(rows.schema, _row_groups(rows))
            _insert(self.connection, table, pieces)

    def end(self) -> None:
        """Store the digests of the rows that were appended, when the dumps are complete."""
        digests = self._digests.table()
        self._digests.clear()
        used = [name for name in digests.column_names if digests[name].null_count < len(digests)]
        insert_rows(self.connection, "dump_digests", digests.select(used))


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
