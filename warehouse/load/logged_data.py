"""Logged data other than times: values with tensors in debug buffers, and metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.ingest.debug_buffer import PART_BYTES, build_tensors
from tracehouse.ingest.dump import HashedFile
from tracehouse.ingest.schemas.dumps import DELEGATE_METADATA, SHA256, TENSORS
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import insert_rows, register_temporarily
from tracehouse.warehouse.load.delegate_metadata import metadata_json
from tracehouse.warehouse.load.stored_events import append_rows

Buffers = Mapping[int, HashedFile]

_LONG_BYTES = 64 << 20
_PARSED = DELEGATE_METADATA.field("parsed")
_DUMPS = "SELECT sha256, dump_id FROM dumps WHERE sha256 IN (SELECT unnest(?))"


def insert_values(connection: duckdb.DuckDBPyConnection, rows: pa.Table, buffers: Buffers) -> None:
    """Insert decoded values; debug buffers are given by dump id."""
    hashed = rows.append_column(SHA256, _store_tensors(connection, rows, buffers))
    append_rows(connection, "debug_values", hashed)


def store_ahead(connection: duckdb.DuckDBPyConnection, rows: pa.Table, buffers: Buffers) -> None:
    """Commit the tensors of long debug buffers, some at a time, before the rows that refer to them.

    In one transaction, the tensors would take six times their size in memory. If the rows are not
    committed, the tensors stay unused until the dump is ingested again.
    """
    long = {key: one for key, one in buffers.items() if len(one.data) >= _LONG_BYTES}
    if long:
        _store_tensors(connection, rows, long)


def store_ahead_of_dumps(
    connection: duckdb.DuckDBPyConnection, buffers: Mapping[str, HashedFile]
) -> None:
    """`store_ahead` for buffers of stored dumps, by SHA-256 of the dump."""
    found = connection.execute(_DUMPS, [list(buffers)]).fetchall()
    known = {id_: buffers[sha256] for sha256, id_ in found}
    store_ahead(connection, _stored_values(connection, known), known)


def attach_buffers(connection: duckdb.DuckDBPyConnection, buffers: Buffers) -> None:
    """Look up the tensors of stored dumps in debug buffers, by dump id."""
    rows = _stored_values(connection, buffers)
    hashed = rows.append_column(SHA256, _store_tensors(connection, rows, buffers))
    with register_temporarily(connection, "hashed", hashed):
        connection.execute(read_statement("set_tensors"))


def _stored_values(connection: duckdb.DuckDBPyConnection, buffers: Buffers) -> pa.Table:
    text = read_statement("stored_tensors")
    return connection.sql(text, params={"dumps": list(buffers)}).to_arrow_table()


def parse_metadata(rows: pa.Table, backend: Callable[[int], str | None]) -> pa.Table:
    """Delegate metadata with a column of parsed JSON; unchanged if it has this column.

    `backend` returns the backend of a dump, by the number in the first column.
    """
    if _PARSED.name in rows.column_names:
        return rows
    parse = lru_cache(maxsize=1024)(metadata_json)
    dumps, raw = rows.column(0).to_pylist(), rows["metadata"].to_pylist()
    texts = [parse(data, backend(dump)) for dump, data in zip(dumps, raw, strict=True)]
    return rows.append_column(_PARSED, pa.array(texts, pa.string()))


def _store_tensors(
    connection: duckdb.DuckDBPyConnection, values: pa.Table, buffers: Buffers
) -> pa.ChunkedArray:
    """Store the tensors of values; returns the hash of each, null if its content is unknown.

    Values of a dump are adjacent; the first column is the key of its buffer.
    """
    hashes: list[pa.Array] = []
    waiting: list[pa.Table] = []
    dump = values.column(0).to_numpy()
    bounds = [0, *(np.flatnonzero(np.diff(dump)) + 1).tolist(), len(dump)]
    for first, last in pairwise(bounds):
        buffer = buffers.get(int(dump[first])) if first < last else None
        if buffer is None:
            hashes.append(pa.nulls(last - first, pa.string()))
        else:
            contents, hashed = build_tensors(values.slice(first, last - first), buffer.data)
            hashes.append(hashed)
            for part in contents:
                waiting.append(part)
                if sum(table.nbytes for table in waiting) >= PART_BYTES:
                    _insert_tensors(connection, waiting)
    _insert_tensors(connection, waiting)
    return pa.chunked_array(hashes, pa.string())


def _insert_tensors(connection: duckdb.DuckDBPyConnection, tables: list[pa.Table]) -> None:
    is_new = "AS n WHERE NOT EXISTS (SELECT 1 FROM tensors AS t WHERE t.sha256 = n.sha256)"
    rows = _distinct(pa.concat_tables([TENSORS.empty_table(), *tables]))
    tables.clear()
    insert_rows(connection, "tensors", rows, is_new)


def _distinct(tensors: pa.Table) -> pa.Table:
    _, first = np.unique(tensors["sha256"].to_numpy(), return_index=True)
    is_first = np.zeros(tensors.num_rows, np.bool_)
    is_first[first] = True
    return tensors.filter(pa.array(is_first))  # unlike take, filter handles more than 2 GB
