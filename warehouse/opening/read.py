"""A store opened to be read: its file, or the newest snapshot while that cannot be had."""

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

PATIENCE = 2.0  # seconds that a writer has to come first where there is nothing else to read
_NO_SNAPSHOT = "there is no snapshot to read meanwhile, as 'tracehouse snapshot' makes; "
NO_STORE = "no store here; create one with 'tracehouse ingest PATHS...'"


class OpenedStore(NamedTuple):
    """A store that can be asked.

    Attributes:
        answering: What answers.
        lock: What keeps its file as it is; None if somebody else holds that.
        snapshot: The snapshot that is read; None if it is the store's own file.
        damage: What is wrong with that file, and what to do; empty if nothing is known to be.
    """

    answering: StoreConnections
    lock: StoreLock | HeldSnapshot | None
    snapshot: Snapshot | None = None
    damage: str = ""

    def release(self) -> None:
        """Ask no more, and let others have it."""
        self.answering.close()
        if self.lock is not None:
            self.lock.release()


def is_there(store: Path) -> bool:
    """Whether there is a store.

    Raises:
        DamagedStoreError: There is an archive, but not the file that is made out of it.
        StoreError: What stands in its place is none or cannot be looked at, or no store can have
            its name.
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
    from warehouse.archive.archive import Archive  # which a question need not wait for

    if Archive(store).segments():
        raise DamagedStoreError(str(store), f"{FILE_NAME} is gone")
    return False


def open_to_read(store: Path, *, wait: float) -> OpenedStore:
    """The store's file; or where it is written, old, damaged or gone, the newest snapshot.

    So it is where a writer waits for those who read; without a snapshot, it has some time to
    come first.

    Raises:
        StoreError: It cannot be read, or is none.
        StoreLockedError: Another process writes it, and there is no snapshot.
        StoreVersionError: A newer tracehouse wrote it.
        OldStoreError: An older one did, and there is no snapshot of its migrated self.
        DamagedStoreError: It is damaged or gone; there is an archive, and no snapshot.
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
    """Let what tells of damage tell, too, that the newest snapshot is read until it is mended.

    Raises:
        DamagedStoreError: The body raised one.
    """
    try:
        yield
    except DamagedStoreError as error:
        snapshots = find_snapshots(store)
        if error.meanwhile or not snapshots:
            raise
        newest = f"until then, what is asked is answered from {snapshots[-1].describe()}"
        raise DamagedStoreError(error.path, error.damage, newest) from error


@contextmanager
def errors_while_open(store: Path, file: Path) -> Iterator[None]:
    """Turn DuckDB's errors about a store's file, or a snapshot, that was opened into ours.

    Damage that did not show before may not show when it is opened again. So it is told, too, how
    to ask the newest snapshot beside it.

    Raises:
        StoreError: See `translated_errors`.
        DamagedStoreError: Likewise.
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
            f"until then, copy {newest.path} to DIR/{FILE_NAME} and ask with --store DIR: it is "
            f"{newest.describe()}"
        )
        raise DamagedStoreError(error.path, error.damage, advice) from error


def open_live(store: Path, *, wait: float, is_urgent: bool = False) -> OpenedStore:
    """The store's own file, see `StoreLock.for_reading`; raises what `open_to_read` does."""
    lock = StoreLock.for_reading(store, wait=wait, is_urgent=is_urgent)
    return _checked(OpenedStore(StoreConnections(store, store / FILE_NAME), lock))


def open_snapshot(store: Path) -> OpenedStore | None:
    """The newest snapshot; None if there is none of the present schema.

    Raises:
        StoreError: It cannot be read.
    """
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
