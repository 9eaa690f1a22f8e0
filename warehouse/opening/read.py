"""A store opened for reading: its file, or its newest snapshot if the file is not available."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tracehouse.warehouse.engine.connection import translated_errors
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import FILE_NAME, has_store_file
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
    WriterWaitingError,
    explain_failure,
)
from tracehouse.warehouse.opening.snapshots import (
    HeldSnapshot,
    Snapshot,
    find_snapshots,
    hold_newest,
)

PATIENCE = 2.0  # seconds to give a waiting writer priority if there is no snapshot
_NO_SNAPSHOT = "there is no snapshot to read meanwhile ('tracehouse store snapshot' creates one); "
NO_STORE = "no store here; create one with 'tracehouse ingest PATHS...'"


class OpenedStore(NamedTuple):
    """A store that can be queried.

    Attributes:
        answering: Connections for queries.
        lock: The lock on the file; None if another object holds it.
        snapshot: The snapshot that is read; None for the store's own file.
        damage: Why the file cannot be read, and the remedy; empty if it is only locked.
    """

    answering: StoreConnections
    lock: StoreLock | HeldSnapshot | None
    snapshot: Snapshot | None = None
    damage: str = ""

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


def open_to_read(store: Path, *, wait: float) -> OpenedStore:
    """The store's file; if it is locked, damaged or gone, the newest snapshot.

    If a writer waits for readers, the snapshot is read, too; without one, the writer has priority
    for PATIENCE seconds.

    Raises:
        StoreError: The store does not exist or cannot be read.
        StoreLockedError: Another process writes the store, and there is no snapshot.
        StoreVersionError: Another version of tracehouse wrote the store.
        DamagedStoreError: The file is damaged or gone; there is an archive, but no snapshot.
    """
    try:
        if not store_exists(store):
            raise StoreError(str(store), NO_STORE)
        return open_live(store, wait=wait)
    except (StoreLockedError, DamagedStoreError) as error:
        opened = open_snapshot(store)
        if opened is None and isinstance(error, WriterWaitingError):
            return open_live(store, wait=PATIENCE, is_urgent=True)
        if opened is None and isinstance(error, StoreLockedError):
            raise StoreLockedError(error.place, error.pid, meanwhile=_NO_SNAPSHOT) from error
        if opened is None:
            raise
        is_locked = isinstance(error, StoreLockedError)
        return opened._replace(damage="" if is_locked else error.problem)


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


def open_live(store: Path, *, wait: float, is_urgent: bool = False) -> OpenedStore:
    """The store's own file: see `StoreLock.for_reading`; raises the errors of `open_to_read`."""
    lock = StoreLock.for_reading(store, wait=wait, is_urgent=is_urgent)
    return _checked(OpenedStore(StoreConnections(store, store / FILE_NAME), lock))


def open_snapshot(store: Path) -> OpenedStore | None:
    """The newest snapshot; None if no snapshot has the current schema.

    Raises:
        StoreError: The snapshot cannot be read.
    """
    held = hold_newest(store)
    if held is not None:
        with suppress(StoreVersionError):
            answering = StoreConnections(store, held.snapshot.path)
            return _checked(OpenedStore(answering, held, held.snapshot))
    return None


def _checked(opened: OpenedStore) -> OpenedStore:
    try:
        opened.answering.check()
    except BaseException:  # an interrupt, too, must not leave the store locked
        opened.release()
        raise
    return opened
