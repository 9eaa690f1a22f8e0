"""A store that has only some of its dumps for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from tracehouse.ingest.schemas.rollups import ROLLUPS

_OF_DUMPS = ("dumps", "runs", "events", "allocations", "debug_values", "counters", *ROLLUPS)


@contextmanager
def only_dumps(connection: duckdb.DuckDBPyConnection, numbers: list[int]) -> Iterator[None]:
    """Delete all other dumps, and bring them back afterwards."""
    connection.execute("BEGIN")
    try:
        for table in _OF_DUMPS:
            connection.execute(
                f"DELETE FROM {table} WHERE NOT array_contains(?, dump_id)",  # noqa: S608
                [numbers],
            )
        yield
    finally:
        connection.execute("ROLLBACK")
