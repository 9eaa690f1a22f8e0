"""What dumps log besides times: values, whose tensors a debug buffer holds, and metadata."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.schemas import DECODED, DELEGATE_METADATA
from ingest.tensor_schemas import SHA256, TENSORS
from ingest.tensors import build_tensors
from warehouse.connection import insert_rows
from warehouse.delegate_metadata import metadata_json

Buffers = Mapping[int, bytes | memoryview]


class LoggedData:
    """The logged values of a store, and the contents of their tensors."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Use the store's only writer."""
        self._connection = connection

    def insert_values(self, rows: pa.Table, ids: NDArray[np.int32], buffers: Buffers) -> None:
        """Insert decoded values; ids and debug buffers are those of each ``dump_index``."""
        hashed, tensors = _hash_tensors(rows, buffers)
        insert_rows(self._connection, "debug_values", number_dumps(hashed, ids))
        insert_rows(
            self._connection, "tensors", tensors, "WHERE sha256 NOT IN (SELECT sha256 FROM tensors)"
        )

    def attach(self, sha256: str, buffer: bytes | memoryview) -> None:
        """Give the dump of that hash, which the store has already, its debug buffer."""
        new = {"buffer": hashlib.sha256(buffer).hexdigest(), "sha256": sha256}
        changed = self._connection.execute(
            "UPDATE dumps SET debug_buffer_sha256 = $buffer WHERE sha256 = $sha256 "
            "AND debug_buffer_sha256 IS DISTINCT FROM $buffer RETURNING dump_id",
            new,
        ).fetchall()
        for key in changed:
            stored = self._connection.sql(
                "SELECT * EXCLUDE sha256 FROM debug_values WHERE dump_id = ? ORDER BY rowid",
                params=key,
            ).to_arrow_table()
            self._connection.execute("DELETE FROM debug_values WHERE dump_id = ?", key)
            index = pa.array(np.zeros(stored.num_rows, np.int32))
            columns = [index, *stored.columns[1:]]
            rows = pa.table(columns, DECODED["debug_values"].names).cast(DECODED["debug_values"])
            self.insert_values(rows, np.array(key, np.int32), {0: buffer})


def parse_metadata(rows: pa.Table, backend: Callable[[int], str | None]) -> pa.Table:
    """Decoded delegate metadata with what it says as JSON; `backend` is that of a dump_index."""
    parse = lru_cache(maxsize=1024)(metadata_json)
    dumps, raw = rows["dump_index"].to_pylist(), rows["metadata"].to_pylist()
    texts = [parse(data, backend(dump)) for dump, data in zip(dumps, raw, strict=True)]
    return rows.append_column(DELEGATE_METADATA.field("parsed"), pa.array(texts, pa.string()))


def number_dumps(rows: pa.Table, ids: NDArray[np.int32]) -> pa.Table:
    """Rows with `dump_id` for `dump_index`."""
    column = pa.array(ids[rows["dump_index"].to_numpy()])
    names = ["dump_id", *rows.column_names[1:]]
    return pa.Table.from_arrays([column, *rows.columns[1:]], names)


def _hash_tensors(values: pa.Table, buffers: Buffers) -> tuple[pa.Table, pa.Table]:
    """Values with the hash of each tensor's content, and the contents."""
    hashes: list[pa.Array] = []
    tensors: list[pa.Table] = [TENSORS.empty_table()]
    for dump, rows in _by_dump(values):
        if dump in buffers:
            contents, hashed = build_tensors(rows, buffers[dump])
            tensors.append(contents)
        else:
            hashed = pa.nulls(rows.num_rows, pa.string())
        hashes.append(hashed)
    column = pa.chunked_array(hashes, pa.string())
    return values.append_column(SHA256, column), _distinct(pa.concat_tables(tensors))


def _by_dump(table: pa.Table) -> list[tuple[int, pa.Table]]:
    """The rows of each dump, which stand side by side."""
    dump = table["dump_index"].to_numpy()
    bounds = [0, *(np.flatnonzero(np.diff(dump)) + 1).tolist(), len(dump)]
    return [
        (int(dump[first]), table.slice(first, last - first))
        for first, last in pairwise(bounds)
        if first < last
    ]


def _distinct(tensors: pa.Table) -> pa.Table:
    first: dict[str, int] = {}
    for row, hashed in enumerate(tensors["sha256"].to_pylist()):
        first.setdefault(hashed, row)
    return tensors.take(pa.array(list(first.values()), pa.int64()))
