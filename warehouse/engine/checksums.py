"""Checksums of tables: equal for stores with the same rows in any order."""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from tracehouse.ingest.schemas.dumps import STORED

TABLES_OF_DUMPS = [name for name in STORED if "dump_id" in STORED[name].names]


class Checksum(NamedTuple):
    """Number of rows of a table, and the sum of their hashes."""

    row_count: int
    total: int


def table_checksums(connection: duckdb.DuckDBPyConnection) -> dict[str, Checksum]:
    """The checksum of every table except bookkeeping tables."""
    return {name: _checksum(connection, name) for name in STORED}


def _checksum(connection: duckdb.DuckDBPyConnection, table: str) -> Checksum:
    ((count, total),) = connection.execute(f"SELECT {_sums(table)} FROM {table}").fetchall()  # noqa: S608
    return Checksum(count, int(total))


def _sums(table: str) -> str:
    return f"count(*), coalesce(sum(hash({', '.join(STORED[table].names)})), 0)::VARCHAR"
