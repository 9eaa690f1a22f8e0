"""Rows of signatures, each stored once, with only some ids in memory."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.warehouse.engine.connection import insert_rows, registered

_MOST_KNOWN = 1 << 17  # ids remembered per table


class SignatureRows:
    """A table of signatures; caches some of its ids, so it is void after a rollback.

    Most signatures of a dump occurred recently. Recent ids are in memory; others are looked up in
    the store.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        self._connection, self._table = connection, table
        self._known: set[int] = set()

    def insert(self, rows: pa.Table) -> None:
        """Insert new rows; ids are in the first column, and may repeat."""
        ids, first = np.unique(rows.column(0).to_numpy(), return_index=True)
        is_unknown = [id_ not in self._known for id_ in ids.tolist()]
        ids, first = ids[is_unknown], first[is_unknown]
        if not len(ids):
            return
        if len(self._known) + len(ids) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(ids[:_MOST_KNOWN].tolist())
        is_new = ~np.isin(ids, self._stored(rows.column_names[0], ids))
        insert_rows(self._connection, self._table, rows.take(np.sort(first[is_new])))

    def _stored(self, column: str, ids: np.typing.NDArray[np.int64]) -> list[int]:
        with registered(self._connection, "wanted", pa.table({"id": ids})):
            text = f"SELECT {column} FROM {self._table} WHERE {column} IN (SELECT id FROM wanted)"  # noqa: S608
            return [row[0] for row in self._connection.execute(text).fetchall()]
