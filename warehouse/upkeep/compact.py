"""A store without the room that was freed in it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ingest.durable import sync_path
from ingest.schemas.dumps import STORED
from warehouse.archive.archive import Archive
from warehouse.archive.rewriting import merge_segments
from warehouse.engine.checksums import table_checksums
from warehouse.engine.connection import (
    open_copier,
    open_reader,
    open_writer,
    take_in_log,
    translated_errors,
    use_database,
)
from warehouse.engine.migrations import migrate
from warehouse.engine.store_file import FILE_NAME, make_file
from warehouse.engine.store_lock import StoreLock
from warehouse.errors import StoreError

_HISTORY = "schema_migrations"  # of the store, which outlives its file


_WANTED = "uncompacted"  # a file that stands in a store while dumps are in free blocks of another


class CompactionResult(NamedTuple):
    """Bytes of the DuckDB file before and after, and segments of the archive that were merged."""

    old_bytes: int
    new_bytes: int
    n_merged_segments: int


def compact_store(path: Path, *, wait: float = 0.0) -> CompactionResult:
    """Write the DuckDB file of a store anew, with what is in it and no more, and put it in place.

    One that would not be smaller does not take its place, unless deleted dumps are in free blocks.
    The store must have been opened to write before, and closed: it is up to date then. Small
    segments of its archive are merged.

    Raises:
        StoreError: The copy differs, the disk is full, or the store cannot be written.
        StoreLockedError: Others have the store open.
    """
    file = path / FILE_NAME
    lock = StoreLock.for_writing(path, is_shared=False, wait=wait)
    try:
        with translated_errors(path):
            take_in_log(file)
            old_bytes = file.stat().st_size
            make_file(
                path,
                lambda new: _copy(path, new),
                is_shared=bool(path.stat().st_mode & 0o077),
                only_below_bytes=None if is_compaction_wanted(path) else old_bytes,
            )
            end_wanting(path)
            merged = merge_segments(Archive(path))
    finally:
        lock.release()
    return CompactionResult(old_bytes, file.stat().st_size, merged)


def want_compaction(store: Path) -> None:
    """Put on disk that dumps are about to be deleted that free blocks will hold.

    Raises:
        StoreError: The store cannot be written.
    """
    try:
        (store / _WANTED).touch()
        sync_path(store)
    except OSError as error:
        raise StoreError(str(store), f"cannot be written: {error.strerror}") from error


def is_compaction_wanted(store: Path) -> bool:
    """Whether dumps were deleted, and nobody compacted the store or rebuilt it since."""
    return (store / _WANTED).exists()


def end_wanting(store: Path) -> None:
    """The store has a new file; an OSError is passed on."""
    (store / _WANTED).unlink(missing_ok=True)


def _copy(store: Path, new: Path) -> None:
    """Make a copy of the store's file, row by row the same.

    Raises:
        StoreError: It differs.
    """
    with open_writer(new) as connection:
        use_database(connection)
        migrate(connection)
        connection.execute("CHECKPOINT")
    with open_copier(store / FILE_NAME, new) as connection:
        connection.execute("DELETE FROM new.schema_migrations")
        for name in (*STORED, _HISTORY):
            connection.execute(f"INSERT INTO new.{name} BY NAME SELECT * FROM old.{name}")  # noqa: S608
        connection.execute("CHECKPOINT new")
    if _checksums(store / FILE_NAME) != _checksums(new):
        raise StoreError(
            str(store),
            "its copy differs, so the file stays as it is: check the disk, and make the file anew "
            "out of the archive with 'tracehouse rebuild'",
        )


def _checksums(file: Path) -> object:
    with open_reader(file) as connection:
        use_database(connection)
        return table_checksums(connection)
