"""Checksums of tables: equal for stores with the same rows in any order."""

from __future__ import annotations

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


def dump_checksums(connection: duckdb.DuckDBPyConnection, dump_id: int) -> dict[str, Checksum]:
    """The checksum of a dump's rows in every table that has rows of dumps."""
    where = f"WHERE dump_id = {dump_id:d}"
    return {name: _checksum(connection, name, where) for name in TABLES_OF_DUMPS}


def _checksum(connection: duckdb.DuckDBPyConnection, table: str, where: str = "") -> Checksum:
    columns = ", ".join(STORED[table].names)
    text = f"SELECT count(*), coalesce(sum(hash({columns})), 0)::VARCHAR FROM {table} {where}"  # noqa: S608
    ((count, total),) = connection.execute(text).fetchall()
    return Checksum(count, int(total))
