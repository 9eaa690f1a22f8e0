"""Changes of a store that are recorded in its archive before they are committed."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.history import History, record_entries
from tracehouse.warehouse.engine.connection import translated_errors


@contextmanager
def record_upkeep(connection: duckdb.DuckDBPyConnection, store: Path) -> Iterator[History]:
    """A transaction whose entries are first sealed in the archive.

    Raises:
        StoreError: The archive cannot be written, or the disk is full.
    """
    with translated_errors(store), record_entries(connection, Archive(store)) as history:
        yield history


def current_user() -> str:
    """Name of the user of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in a container
        return "unknown"
