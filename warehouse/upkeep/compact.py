"""Compaction: removes free blocks of a store's DuckDB file, and merges its archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.durable import sync_path
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.rewriting import merge_segments
from tracehouse.warehouse.engine.checksums import table_checksums
from tracehouse.warehouse.engine.connection import (
    merge_log,
    open_copier,
    open_reader,
    open_writer,
    translated_errors,
    use_database,
)
from tracehouse.warehouse.engine.memory_limit import ASKING, stored_long_values
from tracehouse.warehouse.engine.migrations import migrate
from tracehouse.warehouse.engine.store_file import FILE_NAME, SNAPSHOT_FOLDER, make_file
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.engine.tables import VIEW_ROWS
from tracehouse.warehouse.errors import FailedCheckpointError, StoreError, write_errors
from tracehouse.warehouse.load.summary import IngestProgress

_HISTORY = "schema_migrations"  # a table that is copied like the others
_WANTED = "uncompacted"  # a mark: free blocks of the DuckDB file may contain forgotten dumps

Progress = Callable[[IngestProgress], None]


class CompactionResult(NamedTuple):
    """Bytes of the DuckDB file before and after, and the number of segments merged away."""

    old_bytes: int
    new_bytes: int
    n_merged_segments: int


def compact_store(
    path: Path, *, wait: float = 0.0, progress: Progress | None = None
) -> CompactionResult:
    """Replace the DuckDB file of a store by a copy without free blocks, and merge small segments.

    A copy that is not smaller is discarded, unless free blocks may contain forgotten dumps. The
    store must be closed, and migrated by opening it for writing before. If DuckDB's checkpoint
    fails, the file is rebuilt from the archive, which leaves no free blocks either.

    Raises:
        StoreError: The copy differs, the disk is full, or the store cannot be written.
        StoreLockedError: Another process has the store open.
    """
    lock = StoreLock.for_writing(path, is_shared=False, wait=wait)
    try:
        old_bytes = (path / FILE_NAME).stat().st_size
        with translated_errors(path):
            merge_log(path / FILE_NAME)
            done = replace_file(path, path / FILE_NAME, progress)
            clear_compaction_request(path)
            return done
    except FailedCheckpointError:
        from tracehouse.warehouse.upkeep.rebuild import answer_failed_checkpoint  # imports this

        answer_failed_checkpoint(path)
        return CompactionResult(old_bytes, (path / FILE_NAME).stat().st_size, 0)
    finally:
        lock.release()


def replace_file(store: Path, source: Path, progress: Progress | None = None) -> CompactionResult:
    """Replace a store's file by a copy of `source`, which has the same rows; see `compact_store`.

    The file has no log, and the caller commits nothing meanwhile and clears the request afterwards.
    The table that comes next is the progress, whose errors end the compaction.

    Raises:
        StoreError: As in `compact_store`.
    """
    file = store / FILE_NAME
    old_bytes = file.stat().st_size
    make_file(
        store,
        lambda new: _copy(store, source, new, progress or _show_nothing),
        is_shared=bool(store.stat().st_mode & 0o077),
        only_below_bytes=None if is_compaction_wanted(store) else old_bytes,
    )
    merged = merge_segments(Archive(store))
    return CompactionResult(old_bytes, file.stat().st_size, merged)


def request_compaction(store: Path) -> None:
    """Mark a store, on disk, whose free blocks will contain deleted dumps.

    Raises:
        StoreError: The store cannot be written.
    """
    with write_errors(str(store)):
        (store / _WANTED).touch()
        sync_path(store)


def is_compaction_wanted(store: Path) -> bool:
    """Whether dumps were deleted since the store was last compacted or rebuilt."""
    return (store / _WANTED).exists()


def clear_compaction_request(store: Path) -> None:
    """Remove the mark of a store that has a new file; an OSError is passed on.

    Snapshots of the old file, which have its free blocks, are deleted first.
    """
    if is_compaction_wanted(store):
        delete_snapshots(store)
        (store / _WANTED).unlink()


def delete_snapshots(store: Path) -> None:
    """Delete all snapshots, whose blocks may contain forgotten dumps; an OSError is passed on."""
    for path in (store / SNAPSHOT_FOLDER).glob("*"):
        path.unlink()


def _copy(store: Path, source: Path, new: Path, progress: Progress) -> None:
    with open_reader(source) as connection:
        use_database(connection)
        needed = ASKING + stored_long_values(connection, source).held_bytes
    limits = {"memory_limit": f"{needed}B"}  # otherwise DuckDB would cache whole files
    with open_writer(new) as connection:
        use_database(connection)
        migrate(connection)
        connection.execute("CHECKPOINT")
    names = (*STORED, *VIEW_ROWS, _HISTORY)
    with open_copier(source, new, limits) as connection:
        connection.execute("DELETE FROM new.schema_migrations")
        for number, name in enumerate(names):
            progress(IngestProgress(number, len(names), 0, 0))
            connection.execute(f"INSERT INTO new.{name} BY NAME SELECT * FROM old.{name}")  # noqa: S608
        connection.execute("CHECKPOINT new")
    progress(IngestProgress(len(names), len(names), 0, 0))
    if _checksums(source, limits) != _checksums(new, limits):
        raise StoreError(
            str(store),
            "its copy differs, so the file stays as it is: check the disk, and rebuild the file "
            "from the archive with 'tracehouse store rebuild'",
        )


def _checksums(file: Path, limits: Mapping[str, str | int]) -> object:
    with open_reader(file, limits=limits) as connection:
        use_database(connection)
        return table_checksums(connection)


def _show_nothing(_: IngestProgress) -> None:
    """Progress that nobody wants."""
