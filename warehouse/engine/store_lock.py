"""The lock of a store: one process writes it, or several read it.

DuckDB's own lock works only between processes, and not while a file is closed and reopened. This
lock works then, too, and between two openings of a store in one process.

A stream of readers would block a writer for ever. So a waiting writer closes a gate, which is a
lock on the directory itself: the system opens the gate however the writer ends. New readers wait
at the gate; current readers continue. A directory that cannot be locked has no gate.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tracehouse.warehouse.errors import (
    StoreError,
    StoreLockedError,
    WriterWaitingError,
    write_errors,
)

LOCK_NAME = "lock"
_BUSY = {errno.EAGAIN, errno.EACCES}
_PAUSE = 0.05  # seconds between two tries
# A lock may outlive its holder by this time: a child process inherits the lock until its exec.
_LEFT_SECONDS = 1.0


def is_running(pid: int) -> bool:
    """Whether a process with that id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


class StoreLock:
    """The lock of a store's directory, held until it is released."""

    def __init__(self, store: Path, file: int | None) -> None:
        self._store, self._file = store, file

    @classmethod
    def for_writing(cls, store: Path, *, is_shared: bool, wait: float) -> StoreLock:
        """The exclusive lock, against readers and writers.

        Args:
            store: The store's directory.
            is_shared: Leave the permissions of a new lock file to the umask.
            wait: Seconds to wait for the others.

        Raises:
            StoreError: The lock file cannot be created, or the file system has no locks.
            StoreLockedError: Others still have the store open.
        """
        deadline = time.monotonic() + wait
        with write_errors(str(store)):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            file = os.open(store / LOCK_NAME, flags, 0o666 if is_shared else 0o600)
        assert wait >= 0
        gate = _Gate(store)
        try:
            return cls(store, _lock(store, file, fcntl.LOCK_EX, deadline, gate.close))
        finally:
            gate.open()

    @classmethod
    def for_reading(cls, store: Path, *, wait: float, is_urgent: bool = False) -> StoreLock:
        """The shared lock, against writers; locks nothing if the store never had a writer.

        Args:
            store: The store's directory.
            wait: Seconds to wait for writers, including waiting writers.
            is_urgent: Pass the gate even if a writer still waits after that time.

        Raises:
            StoreError: The file system has no locks.
            StoreLockedError: A writer still has the store open.
            WriterWaitingError: A writer still waits for the store.
        """
        deadline = time.monotonic() + wait
        if _Gate(store).stays_closed(wait) and not is_urgent:
            raise WriterWaitingError(str(store), None)
        try:
            file = os.open(store / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # no lock file, or no permission
            return cls(store, None)
        return cls(store, _lock(store, file, fcntl.LOCK_SH, deadline))

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _Gate:
    """The gate that a waiting writer closes and readers pass: see the module's docstring."""

    def __init__(self, store: Path) -> None:
        self._file: int | None = None
        with suppress(OSError):
            self._file = os.open(store, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the gate, unless another writer holds it closed."""
        self._try(fcntl.LOCK_EX)

    def stays_closed(self, seconds: float) -> bool:
        """Whether others keep the gate closed for the next `seconds`."""
        deadline = time.monotonic() + seconds
        try:
            while not (is_open := self._try(fcntl.LOCK_SH)) and time.monotonic() < deadline:
                time.sleep(_PAUSE)
        finally:
            self.open()
        return not is_open

    def open(self) -> None:
        """Open the gate if this process closed it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _try(self, kind: int) -> bool:
        """Lock the gate; False if others hold it. A missing gate counts as locked."""
        if self._file is not None:
            try:
                fcntl.flock(self._file, kind | fcntl.LOCK_NB)
            except OSError as error:
                return error.errno not in _BUSY
        return True


def _lock(
    store: Path,
    file: int,
    kind: int,
    deadline: float,
    on_busy: Callable[[], None] = lambda: None,
) -> int:
    """Lock the file, or close it on failure; `on_busy` is called before each pause.

    Raises:
        StoreError: The file system has no locks.
        StoreLockedError: Others did not release the file in time.
    """
    left_until = time.monotonic() + _LEFT_SECONDS
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            is_busy = error.errno in _BUSY
            holder = _holder(file) if is_busy else None
            is_left = holder is None or not is_running(holder)
            until = max(deadline, left_until) if is_left else deadline
            if is_busy and time.monotonic() < until:
                on_busy()
                time.sleep(_PAUSE)
                continue
            os.close(file)
            if is_busy:
                raise StoreLockedError(str(store), holder) from error
            raise StoreError(
                str(store),
                f"this file system has no locks ({error.strerror}), which a store needs: "
                "put it on a local disk with --store",
            ) from error
        return file


def _holder(file: int) -> int | None:
    """The process that holds a lock on the file, if the system names it."""
    inode = f":{os.fstat(file).st_ino} "
    try:
        with open("/proc/locks", encoding="ascii") as locks:
            lines = [line.split() for line in locks if inode in line and "->" not in line]
    except OSError:  # not on this system
        return None
    return int(lines[0][4]) if lines else None
