"""A store opened for writing, and the steps around each of its writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tracehouse.ingest.durable import sync_path
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.history import find_unindexed, unfile_missing
from tracehouse.warehouse.archive.rewriting import clear_leftovers
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import (
    FILE_NAME,
    clear_unfinished,
    make_folder,
    sync_names,
)
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.engine.writer import Writer
from tracehouse.warehouse.errors import StoreError
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
        StoreVersionError: A newer tracehouse wrote the store.
        DamagedStoreError: The file is damaged or gone, and an archive exists.
    """
    with snapshot_hint(store):
        if not store_exists(store) and not create:
            raise StoreError(str(store), NO_STORE)
        make_folder(store, is_shared=is_shared)
        lock = StoreLock.for_writing(store, is_shared=is_shared, wait=wait)
        writer = None
        try:
            writer = Writer(store, is_shared=is_shared)
            if not is_patient:
                with errors_while_open(store, store / FILE_NAME):
                    writer.settle()
                    catch_up(writer.connection, store)
            answering = StoreConnections(store, store / FILE_NAME, writer=writer.connection)
            return OpenedStore(answering, lock), writer
        except BaseException:  # an interrupt, too, must not leave the store locked
            if writer:
                writer.close()
            lock.release()
            raise


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
        from tracehouse.warehouse.upkeep.replay import replay  # slow import

        sync_path(archive.folder)  # the writer of a segment may have ended before its name was safe
        replay(connection, archive, segments)
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
    snapshots at intervals, and there is one more at the end.

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
    if publisher:
        publish()
