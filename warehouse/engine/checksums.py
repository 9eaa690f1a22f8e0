"""Checksums of tables: equal for stores with the same rows in any order."""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from ingest.schemas.dumps import STORED


class Checksum(NamedTuple):
    """Number of rows of a table, and the sum of their hashes."""

    row_count: int
    total: int


def table_checksums(connection: duckdb.DuckDBPyConnection) -> dict[str, Checksum]:
    """The checksum of every table except bookkeeping tables."""
    return {name: _checksum(connection, name) for name in STORED}


def _checksum(connection: duckdb.DuckDBPyConnection, table: str) -> Checksum:
    columns = ", ".join(STORED[table].names)
    text = f"SELECT count(*), coalesce(sum(hash({columns})), 0)::VARCHAR FROM {table}"  # noqa: S608
    ((count, total),) = connection.execute(text).fetchall()
    return Checksum(count, int(total))
