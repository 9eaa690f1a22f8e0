"""One process writes a store, or several read it: a lock of our own beside DuckDB's file.

DuckDB's lock holds between processes only, and not at all where it is closed and opened anew; this
one holds from the first look at the file to the last, and between two stores of one process too.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

from warehouse.errors import StoreError, StoreLockedError

LOCK_NAME = "lock"

_BUSY = {errno.EAGAIN, errno.EACCES}
_PAUSE = 0.05  # seconds between two tries


class StoreLock:
    """The lock of a store's directory, held until it is released."""

    def __init__(self, store: Path, file: int | None) -> None:
        """Take a file that is locked; None where there is nothing to lock."""
        self._store, self._file = store, file

    @classmethod
    def for_writing(cls, store: Path, *, is_shared: bool, wait: float) -> StoreLock:
        """The lock that shuts out everyone else.

        Args:
            store: The store's directory.
            is_shared: Leave the permissions of a new lock file to the umask.
            wait: Seconds to wait for others to let go of it.

        Raises:
            StoreError: The lock file cannot be made, or locks do not work here.
            StoreLockedError: Others still have the store open.
        """
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            file = os.open(store / LOCK_NAME, flags, 0o666 if is_shared else 0o600)
        except OSError as error:
            raise StoreError(str(store), f"cannot be written: {error.strerror}") from error
        return cls(store, _lock(store, file, fcntl.LOCK_EX, wait))

    @classmethod
    def for_reading(cls, store: Path, *, wait: float) -> StoreLock:
        """The lock that shuts out writers; nothing where no writer ever was.

        Raises:
            StoreError: Locks do not work here.
            StoreLockedError: A writer still has the store open.
        """
        try:
            file = os.open(store / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # written by an older tracehouse, or not for us to open
            return cls(store, None)
        return cls(store, _lock(store, file, fcntl.LOCK_SH, wait))

    def release(self) -> None:
        """Let others in."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _lock(store: Path, file: int, kind: int, wait: float) -> int:
    """The file, locked; closed if that fails.

    Raises:
        StoreError: Locks do not work here.
        StoreLockedError: Others did not let go of it in time.
    """
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY and time.monotonic() < deadline:
                time.sleep(_PAUSE)
                continue
            holder = _holder(file) if error.errno in _BUSY else None
            os.close(file)
            if error.errno in _BUSY:
                raise StoreLockedError(str(store), holder) from error
            raise StoreError(
                str(store),
                f"this file system has no locks ({error.strerror}), so a store cannot be safe "
                "here: put it on a local disk with --store",
            ) from error
        return file


def _holder(file: int) -> int | None:
    """A process that holds a lock on the file, where the system tells it."""
    inode = f":{os.fstat(file).st_ino} "
    try:
        with open("/proc/locks", encoding="ascii") as locks:
            lines = [line.split() for line in locks if inode in line and "->" not in line]
    except OSError:  # not on this system
        return None
    return int(lines[0][4]) if lines else None
