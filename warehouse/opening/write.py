"""A store opened for writing, and the steps around each of its writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tracehouse.ingest.durable import sync_path
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.history import find_unindexed, unfile_missing
from tracehouse.warehouse.archive.rewriting import clear_leftovers
from tracehouse.warehouse.engine.failed_checkpoints import may_be_torn, read_failures
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import (
    FILE_NAME,
    clear_unfinished,
    make_folder,
    sync_names,
)
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.engine.writer import Writer
from tracehouse.warehouse.errors import DamagedStoreError, FailedCheckpointError, StoreError
from tracehouse.warehouse.opening import snapshots
from tracehouse.warehouse.opening.read import (
    NO_STORE,
    OpenedStore,
    errors_while_open,
    snapshot_hint,
    store_exists,
)
from tracehouse.warehouse.opening.snapshots import Publisher, publish_snapshot
from tracehouse.warehouse.upkeep.forget import erase_forgotten, is_unerased

if TYPE_CHECKING:
    from tracehouse.warehouse.load.summary import IngestProgress


def open_to_write(
    store: Path, *, create: bool, is_shared: bool, is_patient: bool, wait: float
) -> tuple[OpenedStore, Writer]:
    """A store that can be queried and written, up to date with its archive.

    With `is_patient`, nothing is written: it has to be settled and brought up to date before.

    Raises:
        StoreError: The store does not exist and must not be created, or cannot be written.
        StoreLockedError: Another process has the store open.
        StoreVersionError: Another version wrote the store, and has no migration to this one.
        DamagedStoreError: The file is damaged or gone, and an archive exists.
    """
    with snapshot_hint(store):
        # A process that ended in the middle of a rebuild may have left no file.
        is_rebuilt = not is_patient and read_failures(store).is_rebuild_wanted
        if not (is_rebuilt or store_exists(store) or create):
            raise StoreError(str(store), NO_STORE)
        make_folder(store, is_shared=is_shared)
        lock = StoreLock.for_writing(store, is_shared=is_shared, wait=wait)
        try:
            opening = Writer if is_patient else _open_writer
            writer = opening(store, is_shared=is_shared)
            answering = StoreConnections(store, store / FILE_NAME, writer=writer.connection)
            return OpenedStore(answering, lock), writer
        except BaseException:  # an interrupt, too, must not leave the store locked
            lock.release()
            raise


def _open_writer(store: Path, *, is_shared: bool) -> Writer:
    """A writer of the store, after a rebuild if a checkpoint failed before, or fails now.

    A file that is damaged for another reason than a failed checkpoint is left to its owner.

    Raises:
        StoreError: See `open_to_write`.
        DamagedStoreError: See `open_to_write`.
        FailedCheckpointError: A checkpoint of the rebuilt store fails.
    """
    if read_failures(store).is_rebuild_wanted:
        rebuild_after_failure(store)
    try:
        return _open_settled(store, is_shared=is_shared)
    except (FailedCheckpointError, DamagedStoreError) as error:
        if isinstance(error, DamagedStoreError) and not may_be_torn(store):
            raise
        rebuild_after_failure(store)
        return _open_settled(store, is_shared=is_shared)


def rebuild_after_failure(
    store: Path, progress: Callable[[IngestProgress], None] | None = None
) -> None:
    """Rebuild a store whose file is closed, and whose lock the caller holds.

    Raises:
        StoreError: See `answer_failed_checkpoint`.
    """
    from tracehouse.warehouse.upkeep.rebuild import answer_failed_checkpoint  # slow import

    answer_failed_checkpoint(store, progress)


def _open_settled(store: Path, *, is_shared: bool) -> Writer:
    """A writer of the store that is settled and up to date."""
    with ExitStack() as opened:
        writer = Writer(store, is_shared=is_shared)
        opened.callback(writer.close)
        with errors_while_open(store, store / FILE_NAME):
            writer.settle()
            catch_up(writer.connection, store)
        opened.pop_all()
        return writer


def catch_up(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Replay archive entries that are not in the store, and finish work of killed writers.

    A damaged segment raises ArchiveError.
    """
    clear_unfinished(store)
    archive = Archive(store)
    clear_leftovers(archive)
    unfile_missing(connection, archive)
    segments = find_unindexed(connection, archive)
    if segments:
        from tracehouse.warehouse.upkeep.archived_batches import Selection  # slow imports
        from tracehouse.warehouse.upkeep.replay import replay

        sync_path(archive.folder)  # the writer of a segment may have ended before its name was safe
        replay(connection, archive, Selection(segments))
    if is_unerased(connection):
        erase_forgotten(connection, store)


@contextmanager
def writing(
    writer: Writer,
    store: Path,
    progress: Callable[[IngestProgress], None] | None,
    *,
    is_published: bool = False,
) -> Iterator[Callable[[IngestProgress], None]]:
    """A function to call with the progress of the body, which writes the store.

    It checks that the store still exists, and calls `progress`. If `is_published`, it publishes
    snapshots at intervals.

    Raises:
        StoreError: The store was deleted or replaced, or its disk fails.
    """
    publish = partial(publish_snapshot, writer, store)
    publisher = Publisher(publish, pause_seconds=snapshots.PAUSE) if is_published else None

    def report(done: IngestProgress) -> None:
        writer.file.check()
        if publisher:
            publisher.publish_if_due()
        if progress:
            progress(done)

    with errors_while_open(store, store / FILE_NAME):
        yield report
    writer.file.check()
    sync_names(store)
