"""Ids that are the same on every machine, for those that one store alone gives out."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest.signatures import dimension_id

# What tells two of them apart; names are in front, in English.
THINGS: dict[str, tuple[str, ...]] = {
    "device": ("name", "pool", "os", "os_version", "arch", "soc"),
    "build": ("name",),
    "model": ("name", "backend", "quantization"),
}
_LARGEST = 2**63 - 1

Ints = NDArray[np.int64]


def dump_number(sha256: str) -> int:
    """The dump's id: the first 8 bytes of its SHA-256, the top bit cleared.

    >>> dump_number("ff" * 32) == 2**63 - 1
    True
    """
    return int(sha256[:16], 16) & _LARGEST


class Numbers:
    """Ids of a store and of a lake, by column; other columns have the same in both."""

    def __init__(self) -> None:
        """All are the same."""
        self._ids: dict[str, tuple[Ints, Ints]] = {}

    def read_things(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Give ids to the devices, builds and models of a store."""
        for kind, columns in THINGS.items():
            text = f"SELECT {kind}_id, {', '.join(columns)} FROM {kind}s ORDER BY 1"  # noqa: S608
            rows = connection.execute(text).fetchall()
            self.set(f"{kind}_id", {row[0]: dimension_id(kind, row[1:]) for row in rows})

    def set(self, column: str, ids: Mapping[int, int]) -> None:
        """Let these be the ids of a column: those of the lake by those of the store."""
        own = np.array(sorted(ids), np.int64)
        self._ids[column] = own, np.array([ids[one] for one in own.tolist()], np.int64)

    def widened(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows of a store as a lake has them; nothing else of them changes."""
        columns = []
        for field in schema:
            column = rows[field.name]
            if field.name in self._ids:
                own, shared = self._ids[field.name]
                found = np.searchsorted(own, column.to_numpy())
                columns.append(pa.array(shared[found], pa.int64()))
            else:
                columns.append(pc.cast(column, field.type) if column.type != field.type else column)
        return pa.Table.from_arrays(columns, schema=schema)
