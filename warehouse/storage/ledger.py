"""What a store's DuckDB file knows of its archive, where it can be read at all."""

from __future__ import annotations

from pathlib import Path

import duckdb

from warehouse.engine.connection import open_reader, use_database
from warehouse.engine.store_file import FILE_NAME


def indexed_segments(store: Path) -> list[int]:
    """Numbers of the segments whose entries are in the file; none if it cannot be read."""
    try:
        with open_reader(store / FILE_NAME) as connection:
            use_database(connection)
            rows = connection.execute("SELECT segment FROM archive_segments").fetchall()
    except duckdb.Error:  # damaged, locked, old or gone: the archive can be looked at without it
        return []
    return [row[0] for row in rows]
