"""The doors of a store: to read it, to read its newest snapshot, and to write it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.ingest.durable import sync_path
from tracehouse.warehouse.engine.connection import translated_errors
from tracehouse.warehouse.engine.failed_checkpoints import may_be_torn, read_failures
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import (
    FILE_NAME,
    clear_unfinished,
    has_store_file,
    make_folder,
    sync_names,
)
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.engine.writer import Writer
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    FailedCheckpointError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
    WriterWaitingError,
    explain_failure,
)
from tracehouse.warehouse.opening import snapshots
from tracehouse.warehouse.opening.snapshots import (
    HeldSnapshot,
    Publisher,
    Snapshot,
    find_snapshots,
    hold_newest,
    publish_snapshot,
)

if TYPE_CHECKING:
    import duckdb

    from tracehouse.warehouse.load.summary import IngestProgress

PATIENCE = 2.0  # seconds to give a waiting writer priority if there is no snapshot
_NO_SNAPSHOT = "there is no snapshot to read meanwhile ('tracehouse store snapshot' creates one); "
NO_STORE = "no store here; create one with 'tracehouse ingest PATHS...'"


class OpenedStore(NamedTuple):
    """A store that can be queried.

    Attributes:
        answering: Connections for queries.
        lock: The lock on the file; None if another object holds it.
        snapshot: The snapshot that is read; None for the store's own file.
        failure: Why a snapshot is read: the file is locked, damaged or gone; None otherwise.
    """

    answering: StoreConnections
    lock: StoreLock | HeldSnapshot | None
    snapshot: Snapshot | None = None
    failure: StoreLockedError | DamagedStoreError | None = None

    @property
    def damage(self) -> str:
        """Why the file cannot be read, and the remedy; empty if it is only locked."""
        return self.failure.problem if isinstance(self.failure, DamagedStoreError) else ""

    def release(self) -> None:
        """Close the connections and release the lock."""
        self.answering.close()
        if self.lock is not None:
            self.lock.release()


def store_exists(store: Path) -> bool:
    """Whether the store exists.

    Raises:
        DamagedStoreError: The archive exists, but not the DuckDB file.
        StoreError: The path is that of a file, cannot be read, or is not UTF-8.
    """
    if os.path.exists(store) and not os.path.isdir(store):
        raise StoreError(str(store), "is a file, wanted the directory of a store")
    try:
        str(store.absolute()).encode()
    except UnicodeEncodeError as error:
        raise StoreError(str(store), "its path is not UTF-8, which DuckDB needs") from error
    try:
        if has_store_file(store):
            return True
    except OSError as error:
        raise StoreError(str(store), f"cannot be read: {explain_failure(error)}") from error
    from tracehouse.warehouse.archive.archive import (
        Archive,  # slow import, which queries do not need
    )

    if Archive(store).segments():
        raise DamagedStoreError(str(store), f"{FILE_NAME} is gone")
    return False


def open_readable(store: Path, *, wait: float, is_urgent: bool = False) -> OpenedStore:
    """The store's file; if it is locked, damaged or gone, the newest snapshot.

    If a writer waits for readers, the snapshot is read, too; without one, the writer has priority
    for PATIENCE seconds, unless the reader `is_urgent`.

    Raises:
        StoreError: The store does not exist or cannot be read.
        StoreLockedError: Another process writes the store, and there is no snapshot.
        StoreVersionError: Another version of tracehouse wrote the store.
        DamagedStoreError: The file is damaged or gone; there is an archive, but no snapshot.
    """
    try:
        if not store_exists(store):
            raise StoreError(str(store), NO_STORE)
        return _open_file(store, wait=wait, is_urgent=is_urgent)
    except (StoreLockedError, DamagedStoreError) as error:
        if opened := open_snapshot(store):
            return opened._replace(failure=error)
        if isinstance(error, WriterWaitingError):
            return _open_file(store, wait=PATIENCE, is_urgent=True)
        if isinstance(error, StoreLockedError):
            raise StoreLockedError(error.place, error.pid, meanwhile=_NO_SNAPSHOT) from error
        raise


@contextmanager
def snapshot_hint(store: Path) -> Iterator[None]:
    """Add a hint to an error of damage: the newest snapshot answers queries meanwhile.

    Raises:
        DamagedStoreError: The body raised this error.
    """
    try:
        yield
    except DamagedStoreError as error:
        snapshots = find_snapshots(store)
        if error.meanwhile or not snapshots:
            raise
        newest = f"until then, queries are answered from {snapshots[-1].describe()}"
        raise DamagedStoreError(error.place, error.damage, newest) from error


@contextmanager
def errors_while_open(store: Path, file: Path) -> Iterator[None]:
    """Translate DuckDB's errors about the open file of a store or a snapshot.

    Damage that is detected only now may go undetected when the store is reopened, so the message
    explains how to query the newest other snapshot.

    Raises:
        StoreError: See `translated_errors`.
        DamagedStoreError: See `translated_errors`.
    """
    try:
        with translated_errors(store, file):
            yield
    except DamagedStoreError as error:
        others = [snapshot for snapshot in find_snapshots(store) if snapshot.path != file]
        if not others:
            raise
        newest = others[-1]
        advice = (
            f"until then, copy {newest.path} to DIR/{FILE_NAME} and query it with --store DIR: it "
            f"is {newest.describe()}"
        )
        raise DamagedStoreError(error.place, error.damage, advice) from error


def open_snapshot(store: Path) -> OpenedStore | None:
    """The newest snapshot; None if no snapshot has the current schema.

    Raises:
        StoreError: The snapshot cannot be read.
    """
    held = hold_newest(store)
    if held is not None:
        with suppress(StoreVersionError):
            answering = StoreConnections(store, held.snapshot.path)
            return _check(OpenedStore(answering, held, held.snapshot))
    return None


def _open_file(store: Path, *, wait: float, is_urgent: bool) -> OpenedStore:
    lock = StoreLock.for_reading(store, wait=wait, is_urgent=is_urgent)
    return _check(OpenedStore(StoreConnections(store, store / FILE_NAME), lock))


def _check(opened: OpenedStore) -> OpenedStore:
    try:
        opened.answering.check()
    except BaseException:  # an interrupt, too, must not leave the store locked
        opened.release()
        raise
    return opened


def open_writable(
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
        StoreError: See `open_writable`.
        DamagedStoreError: See `open_writable`.
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
    # Readers need not wait for these imports.
    from tracehouse.warehouse.archive.archive import Archive
    from tracehouse.warehouse.archive.history import (
        find_unindexed,
        read_indexed,
        unmark_lost_segments,
    )
    from tracehouse.warehouse.archive.rewriting import clear_leftovers
    from tracehouse.warehouse.upkeep.forget import erase_forgotten, is_unerased

    clear_unfinished(store)
    archive = Archive(store)
    clear_leftovers(archive)
    indexed = read_indexed(connection)
    unmark_lost_segments(connection, archive, indexed)
    segments = find_unindexed(archive, indexed)
    if segments:
        from tracehouse.warehouse.upkeep.replay import (
            Selection,  # slow imports
            replay,
        )

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
