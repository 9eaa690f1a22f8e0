"""A store opened for writing, and the steps around each of its writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.archive.archive import Archive
from warehouse.archive.history import find_unindexed, unfile_missing
from warehouse.archive.rewriting import MANY_SEGMENTS, clear_leftovers, merge_segments
from warehouse.engine.store_connections import StoreConnections
from warehouse.engine.store_file import FILE_NAME, clear_unfinished, make_folder, sync_names
from warehouse.engine.store_lock import StoreLock
from warehouse.engine.writer import Writer
from warehouse.errors import StoreError
from warehouse.opening import snapshots
from warehouse.opening.read import (
    NO_STORE,
    OpenedStore,
    errors_while_open,
    snapshot_hint,
    store_exists,
)
from warehouse.opening.snapshots import Publisher, publish_snapshot
from warehouse.upkeep.forget import erase_forgotten, is_unerased

if TYPE_CHECKING:
    from ingest.dump import Dump
    from ingest.found_dumps import FoundDumps
    from warehouse.load.summary import IngestProgress, IngestSummary


def open_to_write(
    store: Path, *, create: bool, is_shared: bool, wait: float
) -> tuple[OpenedStore, Writer]:
    """A store that can be queried and written, up to date with its archive.

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
            with errors_while_open(store, store / FILE_NAME):
                _catch_up(writer.connection, store)
            answering = StoreConnections(store, store / FILE_NAME, writer=writer.connection)
            return OpenedStore(answering, lock), writer
        except BaseException:  # an interrupt, too, must not leave the store locked
            if writer:
                writer.close()
            lock.release()
            raise


def _catch_up(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Replay archive entries that are not in the store, and finish work of killed writers.

    A damaged segment raises ArchiveError.
    """
    clear_unfinished(store)
    archive = Archive(store)
    clear_leftovers(archive)
    unfile_missing(connection, archive)
    segments = find_unindexed(connection, archive)
    if segments:
        from warehouse.upkeep.replay import replay  # slow import

        replay(connection, archive, segments)
    if is_unerased(connection):
        erase_forgotten(connection, store)


def ingest_found(  # noqa: PLR0913 - the options of `Warehouse.ingest`
    writer: Writer,
    store: Path,
    found: FoundDumps | list[Dump],
    *,
    is_archived: bool,
    is_published: bool,
    jobs: int | None,
    progress: Callable[[IngestProgress], None] | None,
) -> IngestSummary:
    """Ingest found dumps; see `Warehouse.ingest`."""
    from warehouse.load.pipeline import ingest_dumps

    archive = Archive(store) if is_archived else None
    published = writing(writer, store, progress, is_published=is_published)
    with published as (connection, report):
        summary = ingest_dumps(connection, found, archive=archive, jobs=jobs, progress=report)
        if archive:
            merge_segments(archive, least=MANY_SEGMENTS)
    if is_published:
        publish_snapshot(writer, store)
    return replace(summary, notes=() if isinstance(found, list) else tuple(found.notes))


@contextmanager
def writing(
    writer: Writer,
    store: Path,
    progress: Callable[[IngestProgress], None] | None,
    *,
    is_published: bool = False,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Callable[[IngestProgress], None]]]:
    """The writing connection, and a function to call with each progress.

    Args:
        writer: The store's writer.
        store: The store's directory.
        progress: Called with each progress, after a check that the store still exists.
        is_published: Publish snapshots at intervals.

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
        yield writer.connection, report
    writer.file.check()
    sync_names(store)
