"""A store opened for reading: its file, or its newest snapshot if the file is not available."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from warehouse.engine.connection import translated_errors
from warehouse.engine.store_connections import StoreConnections
from warehouse.engine.store_file import FILE_NAME, is_made
from warehouse.engine.store_lock import StoreLock
from warehouse.errors import (
    DamagedStoreError,
    OldStoreError,
    StoreError,
    StoreLockedError,
    WriterWaitsError,
)
from warehouse.opening.snapshots import HeldSnapshot, Snapshot, find_snapshots, hold_newest

PATIENCE = 2.0  # seconds for a waiting writer to come first if there is no snapshot
_NO_SNAPSHOT = "there is no snapshot to read meanwhile, as 'tracehouse snapshot' makes; "
NO_STORE = "no store here; create one with 'tracehouse ingest PATHS...'"


class OpenedStore(NamedTuple):
    """A store that can be queried.

    Attributes:
        answering: Its connections.
        lock: The lock on its file; None if another object holds it.
        snapshot: The snapshot that is read; None if it is the store's own file.
        damage: Damage of the store's file, and its remedy; empty if none is known.
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


def is_there(store: Path) -> bool:
    """Whether there is a store.

    Raises:
        DamagedStoreError: There is an archive, but no DuckDB file.
        StoreError: The path is that of a file, cannot be read, or is not UTF-8.
    """
    if os.path.exists(store) and not os.path.isdir(store):
        raise StoreError(str(store), "is a file, wanted the directory of a store")
    try:
        str(store.absolute()).encode()
    except UnicodeEncodeError as error:
        raise StoreError(str(store), "its path is not UTF-8, as DuckDB needs it") from error
    try:
        if is_made(store):
            return True
    except OSError as error:
        raise StoreError(str(store), f"cannot be read: {error.strerror}") from error
    from warehouse.archive.archive import Archive  # a slow import, which a query does not need

    if Archive(store).segments():
        raise DamagedStoreError(str(store), f"{FILE_NAME} is gone")
    return False


def open_to_read(store: Path, *, wait: float) -> OpenedStore:
    """The store's file; if it is locked, old, damaged or gone, the newest snapshot.

    If a writer waits for readers the snapshot is read too; without one, the writer has PATIENCE
    seconds to come first.

    Raises:
        StoreError: The store does not exist or cannot be read.
        StoreLockedError: Another process writes the store, and there is no snapshot.
        StoreVersionError: A newer tracehouse wrote the store.
        OldStoreError: An older one did, and there is no snapshot of the present schema.
        DamagedStoreError: The file is damaged or gone; there is an archive, but no snapshot.
    """
    try:
        if not is_there(store):
            raise StoreError(str(store), NO_STORE)
        return open_live(store, wait=wait)
    except (StoreLockedError, OldStoreError, DamagedStoreError) as error:
        opened = open_snapshot(store)
        if opened is None and isinstance(error, WriterWaitsError):
            return open_live(store, wait=PATIENCE, is_urgent=True)
        if opened is None and isinstance(error, StoreLockedError):
            raise StoreLockedError(error.path, error.pid, meanwhile=_NO_SNAPSHOT) from error
        if opened is None:
            raise
        is_damage = isinstance(error, DamagedStoreError)
        return opened._replace(damage=error.problem if is_damage else "")


@contextmanager
def snapshot_hint(store: Path) -> Iterator[None]:
    """Add to an error of damage that the newest snapshot answers queries meanwhile.

    Raises:
        DamagedStoreError: The body raised it.
    """
    try:
        yield
    except DamagedStoreError as error:
        snapshots = find_snapshots(store)
        if error.meanwhile or not snapshots:
            raise
        newest = f"until then, queries are answered from {snapshots[-1].describe()}"
        raise DamagedStoreError(error.path, error.damage, newest) from error


@contextmanager
def errors_while_open(store: Path, file: Path) -> Iterator[None]:
    """Translate DuckDB's errors about the open file of a store or a snapshot.

    Damage that shows only now may not show when the store is opened again, so the message tells
    how to query the newest other snapshot.

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
        raise DamagedStoreError(error.path, error.damage, advice) from error


def open_live(store: Path, *, wait: float, is_urgent: bool = False) -> OpenedStore:
    """The store's own file, see `StoreLock.for_reading`; raises the errors of `open_to_read`."""
    lock = StoreLock.for_reading(store, wait=wait, is_urgent=is_urgent)
    return _checked(OpenedStore(StoreConnections(store, store / FILE_NAME), lock))


def open_snapshot(store: Path) -> OpenedStore | None:
    """The newest snapshot; None if there is none of the present schema."""
    held = hold_newest(store)
    if held is not None:
        with suppress(OldStoreError):
            answering = StoreConnections(store, held.snapshot.path)
            return _checked(OpenedStore(answering, held, held.snapshot))
    return None


def _checked(opened: OpenedStore) -> OpenedStore:
    try:
        opened.answering.check()
    except BaseException:  # an interrupt too must not leave the store locked
        opened.release()
        raise
    return opened
