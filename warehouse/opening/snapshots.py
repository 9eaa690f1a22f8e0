"""Snapshots: read-only copies of a store's file, for queries while another process writes.

The writing process publishes a snapshot between two commits: it checkpoints the file and copies it.
A reader locks its snapshot, which is then not removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.durable import lock, sync_path, try_lock
from tracehouse.warehouse.engine.store_checks import seal_file, seal_of
from tracehouse.warehouse.engine.store_file import SNAPSHOT_FOLDER, check_room
from tracehouse.warehouse.engine.writer import Writer
from tracehouse.warehouse.errors import StoreError, explain_failure, write_errors

KEPT = 3  # newest snapshots, unless a setting says otherwise
PAUSE = 60.0  # seconds from one snapshot to the next in a long ingest
_SHARE = 20  # minimum pause after publishing a snapshot, as a multiple of the time taken

_KEPT = "the existing snapshots stay"  # if the disk is full
_UNFINISHED = ".new"
_NAME = re.compile(r"(\d{6,})-(\d{8}T\d{6}Z)\.duckdb")
_TIME = "%Y%m%dT%H%M%S%z"
_READ_ONLY = 0o444
_PART_BYTES = 1 << 20
_KERNEL_BYTES = 64 << 20  # copied by the kernel at a time
_CLONE = 0x40049409  # FICLONE of Linux: share the blocks of another file, copied on write


class Snapshot(NamedTuple):
    """A published snapshot; later ones have higher numbers. Its time is in UTC, to the second."""

    path: Path
    number: int
    taken_at: datetime

    @classmethod
    def at(cls, path: Path) -> Snapshot | None:
        """The snapshot with this path; None if the name is not that of a snapshot."""
        found = _NAME.fullmatch(path.name)
        if found is None or not path.is_file():
            return None
        with suppress(ValueError):  # no such day
            return cls(path, int(found[1]), datetime.strptime(found[2], _TIME))
        return None

    def describe(self) -> str:
        """Time and age, for messages."""
        age = max((datetime.now(UTC) - self.taken_at).total_seconds(), 0.0)
        return f"the snapshot of {self.taken_at:%Y-%m-%d %H:%M:%S}Z, which is {age:,.0f} s old"


def find_snapshots(store: Path) -> list[Snapshot]:
    """The snapshots of a store, oldest first."""
    folder = store / SNAPSHOT_FOLDER
    paths = folder.iterdir() if os.path.isdir(folder) else ()
    return sorted(filter(None, map(Snapshot.at, paths)), key=lambda one: one.number)


def publish_snapshot(writer: Writer, store: Path, *, kept: int = KEPT) -> Snapshot:
    """Publish a snapshot, and remove old snapshots without readers; the newest ones are kept.

    Old snapshots make room for the new one, but the newest stays until there is a newer one. The
    caller holds the store's lock, and commits nothing meanwhile.

    Raises:
        StoreError: The disk is full or fails, or the store's file was deleted or replaced.
    """
    writer.checkpoint()
    folder = store / SNAPSHOT_FOLDER
    with write_errors(str(folder), kept=_KEPT):
        folder.mkdir(mode=store.stat().st_mode & 0o777, exist_ok=True)
        for left in folder.glob(f"*{_UNFINISHED}"):
            left.unlink()
        known = find_snapshots(store)
        for old in known[: -max(kept - 1, 1)]:
            _remove_unless_read(old.path)
        snapshot = _publish(writer.file.descriptor, folder, known[-1].number + 1 if known else 1)
        if known and kept == 1:
            _remove_unless_read(known[-1].path)
        return snapshot


class Publisher:
    """Publishes snapshots at intervals while a store is written."""

    def __init__(self, publish: Callable[[], object], *, pause_seconds: float) -> None:
        self._publish, self._pause_seconds = publish, pause_seconds
        self._due = time.monotonic() + pause_seconds

    def publish_if_due(self, *, is_wanted: bool = False) -> bool:
        """Publish a snapshot if one is due or wanted; True if published. Errors are passed on."""
        start = time.monotonic()
        if not is_wanted and start < self._due:
            return False
        self._publish()
        end = time.monotonic()
        self._due = end + max(self._pause_seconds, _SHARE * (end - start))
        return True


class HeldSnapshot:
    """A snapshot that is not removed until it is released."""

    def __init__(self, snapshot: Snapshot, file: int) -> None:
        self.snapshot, self._file = snapshot, file

    def release(self) -> None:
        """Release the lock."""
        os.close(self._file)


def hold_newest(store: Path) -> HeldSnapshot | None:
    """The newest snapshot, which the caller must release; None if the store has none.

    Raises:
        StoreError: The snapshot cannot be read.
    """
    for snapshot in reversed(find_snapshots(store)):
        try:
            file = os.open(snapshot.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # removed meanwhile; use an older one
            continue
        except OSError as error:
            raise StoreError(
                str(snapshot.path), f"cannot be read: {explain_failure(error)}"
            ) from error
        lock(file, is_shared=True)
        if os.fstat(file).st_nlink:
            return HeldSnapshot(snapshot, file)
        os.close(file)
    return None


def _publish(source: int, folder: Path, number: int) -> Snapshot:
    """Copy a file into the folder, renamed into place once it is synced to disk."""
    now = datetime.now(UTC).replace(microsecond=0)
    path = folder / f"{number:06}-{now:%Y%m%dT%H%M%S}Z.duckdb"
    unfinished = path.with_name(path.name + _UNFINISHED)
    try:
        with open(unfinished, "x+b", opener=_open_private) as target:
            _copy(source, target.fileno(), folder)
            os.fsync(target.fileno())
            os.fchmod(target.fileno(), os.fstat(source).st_mode & _READ_ONLY)
            unfinished.rename(path)
            seal_file(path, target.fileno())
    finally:
        unfinished.unlink(missing_ok=True)
    sync_path(folder)
    return Snapshot(path, number, now)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _copy(source: int, target: int, folder: Path) -> None:
    with suppress(OSError):  # most file systems cannot
        fcntl.ioctl(target, _CLONE, source)
        return
    check_room(folder, os.fstat(source).st_size, kept=_KEPT)
    position = 0
    with suppress(AttributeError, OSError):  # some systems cannot; the loop below continues
        while count := os.copy_file_range(source, target, _KERNEL_BYTES, position, position):
            position += count
    while part := os.pread(source, _PART_BYTES, position):
        position += os.pwrite(target, part, position)


def _remove_unless_read(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if try_lock(file):  # otherwise a reader uses it; the next publication removes it
            seal_of(path).unlink(missing_ok=True)
            path.unlink()
    finally:
        os.close(file)
