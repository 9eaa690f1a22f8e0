"""Rows of signatures: stored once each, without the ids of all of them in memory."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from warehouse.engine.connection import insert_rows, registered

_MOST_KNOWN = 1 << 17  # ids remembered per table


class SignatureRows:
    """A table of signatures; remembers some of the ids it has, so it is of no use after a rollback.

    Dumps mostly bring signatures that were met not long before: these are told without asking the
    store, and of the others it is asked which it has.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        """Start without any ids in memory."""
        self._connection, self._table = connection, table
        self._known: set[int] = set()

    def insert(self, rows: pa.Table) -> None:
        """Insert the rows that are new; the id is in the first column, and may come twice."""
        ids, first = np.unique(rows.column(0).to_numpy(), return_index=True)
        met = [id_ not in self._known for id_ in ids.tolist()]
        ids, first = ids[met], first[met]
        if not len(ids):
            return
        if len(self._known) + len(ids) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(ids[:_MOST_KNOWN].tolist())
        is_new = ~np.isin(ids, self._stored(rows.column_names[0], ids))
        insert_rows(self._connection, self._table, rows.take(np.sort(first[is_new])))

    def _stored(self, column: str, ids: np.typing.NDArray[np.int64]) -> list[int]:
        """Those of the ids that the store has."""
        with registered(self._connection, "asked", pa.table({"id": ids})):
            text = f"SELECT {column} FROM {self._table} WHERE {column} IN (SELECT id FROM asked)"  # noqa: S608
            return [row[0] for row in self._connection.execute(text).fetchall()]
