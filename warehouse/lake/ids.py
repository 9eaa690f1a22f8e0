"""Ids that are the same on every machine, in place of the ids that each store assigns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracehouse.ingest.schemas.attributes import dimension_columns
from tracehouse.ingest.signatures import dimension_id
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.layout import LakePart
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.tables import read_columns

# Columns that identify a device, build or model.
DIMENSION_KEYS: dict[str, tuple[str, ...]] = {
    "device": dimension_columns("device"),
    "build": ("name",),
    "model": dimension_columns("model"),
}
_LARGEST = 2**63 - 1

Ints = NDArray[np.int64]


def dump_number(sha256: str) -> int:
    """The dump's id: the first 8 bytes of its SHA-256, the top bit cleared.

    >>> dump_number("ff" * 32) == 2**63 - 1
    True
    """
    return int(sha256[:16], 16) & _LARGEST


class LakeIds:
    """A lake's ids by the store's ids, for each column; absent columns have equal ids in both."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[Ints, Ints]] = {}

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> LakeIds:
        """The ids of the dumps, devices, builds and models of a store."""
        ids = cls()
        for kind, columns in DIMENSION_KEYS.items():
            text = f"SELECT {kind}_id, {', '.join(columns)} FROM {kind}s"  # noqa: S608
            rows = connection.execute(text).fetchall()
            ids.set(f"{kind}_id", {row[0]: dimension_id(kind, row[1:]) for row in rows})
        rows = connection.execute("SELECT dump_id, sha256 FROM dumps").fetchall()
        ids.set("dump_id", {id_: dump_number(sha256) for id_, sha256 in rows})
        return ids

    def set(self, column: str, ids: Mapping[int, int]) -> None:
        """Add a column: the lake's ids by the store's."""
        own = np.array(sorted(ids), np.int64)
        assert len(set(ids.values())) == len(ids), "ids are unique"
        self._ids[column] = own, np.array([ids[one] for one in own.tolist()], np.int64)

    def translate(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows of a store with the lake's ids and types."""
        columns = []
        for field in schema:
            column = rows[field.name]
            if field.name in self._ids:
                own, shared = self._ids[field.name]
                found = np.searchsorted(own, values := column.to_numpy())
                assert (own[found] == values).all(), "every row has an id of this lake"
                columns.append(pa.array(shared[found], pa.int64()))
            else:
                columns.append(pc.cast(column, field.type) if column.type != field.type else column)
        return pa.Table.from_arrays(columns, schema=schema)


class DumpLocation(NamedTuple):
    """A dump of a lake, and the part that contains it."""

    dump_id: int
    sha256: str
    part: LakePart


def locate_dumps(lake: Lake, state: LakeState) -> list[DumpLocation]:
    """Every dump of a lake, in order of parts; a dump in two parts occurs twice.

    Raises:
        LakeError: A file cannot be read.
    """
    return [
        DumpLocation(dump_id, sha256, part)
        for file in state.of("dumps")
        if (part := LakePart.of(file.path))
        for dump_id, sha256 in read_columns(lake, file.path, "dump_id", "sha256")
    ]


def find_repeated(dumps: Iterable[DumpLocation]) -> Iterator[DumpLocation]:
    """Dumps that two writers added at the same time, in all parts but the first."""
    seen: set[str] = set()
    for dump in dumps:
        if dump.sha256 in seen:
            yield dump
        seen.add(dump.sha256)
