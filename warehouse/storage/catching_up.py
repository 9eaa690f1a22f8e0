"""A store brought to where its archive is, before anybody writes to it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from warehouse.archive.archive import Archive
from warehouse.archive.history import find_unindexed, unfile_missing
from warehouse.archive.rewriting import clear_leftovers
from warehouse.engine.store_file import clear_unfinished
from warehouse.storage.erasing import erase_forgotten, is_unerased


def catch_up(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Take over what is in the archive and was not committed any more, or was lost since.

    What a writer left half-done that was killed is ended, too. A damaged segment raises
    ArchiveError.
    """
    clear_unfinished(store)
    archive = Archive(store)
    clear_leftovers(archive)
    unfile_missing(connection, archive)
    segments = find_unindexed(connection, archive)
    if segments:
        from warehouse.storage.replay import replay  # takes long to import

        replay(connection, archive, segments)
    if is_unerased(connection):
        erase_forgotten(connection, store)
