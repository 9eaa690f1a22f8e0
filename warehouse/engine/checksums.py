"""Checksums of tables: equal for stores with the same rows in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from ingest.schemas.dumps import STORED

TABLES_OF_DUMPS = [name for name in STORED if "dump_id" in STORED[name].names]


class Checksum(NamedTuple):
    """Number of rows of a table, and the sum of their hashes."""

    row_count: int
    total: int


def table_checksums(connection: duckdb.DuckDBPyConnection) -> dict[str, Checksum]:
    """The checksum of every table except bookkeeping tables."""
    return {name: _checksum(connection, name) for name in STORED}


def dump_checksums(
    connection: duckdb.DuckDBPyConnection, dump_ids: Sequence[int]
) -> dict[tuple[str, int], Checksum]:
    """The checksum of the rows of dumps, by table and dump; without rows there is none."""
    return {
        (name, dump_id): Checksum(count, int(total))
        for name in TABLES_OF_DUMPS
        for dump_id, count, total in connection.execute(
            f"SELECT dump_id, {_sums(name)} FROM {name} "  # noqa: S608
            "WHERE dump_id IN (SELECT unnest(?)) GROUP BY dump_id",
            [list(dump_ids)],
        ).fetchall()
    }


def _checksum(connection: duckdb.DuckDBPyConnection, table: str) -> Checksum:
    ((count, total),) = connection.execute(f"SELECT {_sums(table)} FROM {table}").fetchall()  # noqa: S608
    return Checksum(count, int(total))


def _sums(table: str) -> str:
    return f"count(*), coalesce(sum(hash({', '.join(STORED[table].names)})), 0)::VARCHAR"
