"""A store in memory: for dumps that are on their way somewhere else."""

from __future__ import annotations

import duckdb

from warehouse.engine.connection import open_memory, use_database
from warehouse.engine.migrations import migrate


def store_in_memory() -> duckdb.DuckDBPyConnection:
    """A connection that writes a new store, which goes with it."""
    connection = open_memory()
    use_database(connection)
    migrate(connection)
    return connection
