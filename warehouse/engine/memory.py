"""A store in memory: for dumps that are on their way somewhere else."""

from __future__ import annotations

import duckdb

from warehouse.engine.connection import open_memory, use_database
from warehouse.engine.migrations import create_tables


def store_in_memory() -> duckdb.DuckDBPyConnection:
    """A connection that writes a store's tables, which go with it; nobody asks for its views."""
    connection = open_memory()
    use_database(connection)
    create_tables(connection)
    return connection
