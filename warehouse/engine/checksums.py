"""Checksums of rows: equal for stores with the same rows in any order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.dumps import STORED

TABLES_OF_DUMPS = [name for name in STORED if "dump_id" in STORED[name].names]


class Checksum(NamedTuple):
    """Number of rows, and the sum of their hashes."""

    row_count: int
    total: int


def table_checksums(
    connection: duckdb.DuckDBPyConnection, schemas: Mapping[str, pa.Schema] = STORED
) -> dict[str, Checksum]:
    """The checksum of each table; by default, of all that follow from the archive."""
    return {name: _checksum(connection, name, schema) for name, schema in schemas.items()}


def dump_checksums(
    connection: duckdb.DuckDBPyConnection, table: str, dumps: Collection[int] | None = None
) -> dict[int, Checksum]:
    """The checksum of each dump's rows in a table, without their ids; of all dumps by default."""
    columns = (name for name in STORED[table].names if name != "dump_id")
    text = f"SELECT dump_id, {_sums(columns)} FROM {table}"  # noqa: S608
    values = []
    if dumps is not None:
        text += " WHERE dump_id IN (SELECT unnest(?::BIGINT[]))"
        values.append(list(dumps))
    rows = connection.execute(f"{text} GROUP BY dump_id", values).fetchall()
    return {id_: Checksum(count, int(total)) for id_, count, total in rows}


def _checksum(connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema) -> Checksum:
    text = f"SELECT {_sums(schema.names)} FROM {table}"  # noqa: S608
    ((count, total),) = connection.execute(text).fetchall()
    return Checksum(count, int(total))


def _sums(columns: Iterable[str]) -> str:
    return f"count(*), coalesce(sum(hash({', '.join(columns)})), 0)::VARCHAR"
