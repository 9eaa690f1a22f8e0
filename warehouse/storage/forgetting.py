"""Dumps deleted for good: from the store, from its archive and from what was published of it."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from warehouse.archive.archive import Archive
from warehouse.archive.entries import FORGOTTEN, Entry
from warehouse.engine.connection import translated_errors
from warehouse.engine.store_file import FILE_NAME
from warehouse.errors import StoreError
from warehouse.storage.choice import ChosenDump
from warehouse.storage.compaction import compact_store, want_compaction
from warehouse.storage.erasing import erase_forgotten
from warehouse.storage.upkeep import record_upkeep

UNCOMPACTED = (
    "dumps were forgotten, but free blocks of the DuckDB file may hold some of them until "
    "'tracehouse compact' is run"
)


def forget_dumps(
    connection: duckdb.DuckDBPyConnection, store: Path, dumps: Sequence[ChosenDump]
) -> None:
    """Delete dumps and all that only they had: names, signatures, ETRecords, debug buffers.

    That they were forgotten, when and by whom is on record in the table forgotten_dumps; their
    bytes may come in again, as a new dump. The file of the store holds them in blocks that are
    free until it is compacted, see `finish_forgetting`. A damaged segment of the archive raises
    ArchiveError; the rest is done when the store is opened to write after it was rebuilt.

    Raises:
        StoreError: The store cannot be written.
    """
    want_compaction(store)
    now, user = datetime.now(UTC), current_user()
    entries = [Entry(FORGOTTEN, now, "", dump.sha256, detail=user) for dump in dumps]
    with translated_errors(store):
        record_upkeep(connection, Archive(store), entries)
        erase_forgotten(connection, store)


def finish_forgetting(store: Path, *, wait: float) -> None:
    """Compact a store that is closed, so that nothing of forgotten dumps is in free blocks.

    Raises:
        StoreError: It cannot be done now; says what will do it.
    """
    try:
        compact_store(store, wait=wait)
    except StoreError as error:
        raise StoreError(error.path, f"{error.problem}; {UNCOMPACTED}") from error


def find_kept_files(store: Path) -> list[Path]:
    """Files put aside for their damage or difference, which may hold what was forgotten."""
    aside = Archive(store).folder / "damaged"
    return [*sorted(store.glob(f"{FILE_NAME}*.old-*")), *sorted(aside.glob("*"))]


def current_user() -> str:
    """Name of the user whose process this is."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in a container
        return "unknown"
