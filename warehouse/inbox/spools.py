"""Files on their way in, piece by piece: in memory while small, else in a file of the inbox.

That file has room for the head of a record, so that it becomes a log of its own where it is.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ingest.dump import Bytes, HashedFile
from ingest.durable import lock, rename, sync_data, try_lock, unlock, write_all
from warehouse.engine.failpoints import failpoint
from warehouse.errors import StoreError
from warehouse.inbox.log import key_of, name_log, own_log
from warehouse.inbox.records import Delivery
from warehouse.inbox.tallies import Tally, delete_log, open_tally, write_tally

MEMORY_BYTES = 512 << 10  # beyond which a file is not held in memory
HEAD_BYTES = 64 << 10  # room for the head of a record, before the file's bytes
# Hashing more at a time lets other threads in, and waits for its turn behind them: for far longer
# than it takes to hash what is small.
_KEPT_TURN_BYTES = 2047

_SPOOLED, _ZIPPED, _SEALED = ".part", ".zip", ".sealed"


class Spool:
    """A file that comes in pieces; close it, and nothing is left but the log it may have become.

    Attributes:
        byte_count: Size of what has come.
    """

    def __init__(self, folder: Path, *, is_zip: bool = False) -> None:
        """Take the inbox's folder; a zip is always in a file, without room before it."""
        self._folder, self._path = folder, folder
        self._suffix, self._start = (_ZIPPED, 0) if is_zip else (_SPOOLED, HEAD_BYTES)
        self._memory_bytes = -1 if is_zip else MEMORY_BYTES
        self._digest = hashlib.sha256()
        self._held = bytearray()
        self._file: int | None = None
        self._data: Bytes | None = None
        self.byte_count = 0

    @property
    def is_large(self) -> bool:
        """Whether it is in a file."""
        return self._file is not None

    @property
    def path(self) -> Path:
        """Its file; the inbox's folder while it is in memory."""
        return self._path

    def write(self, piece: Bytes) -> None:
        """Take the next piece.

        Raises:
            StoreError: The disk is full, or the folder cannot be written.
        """
        self.byte_count += len(piece)
        if self._file is None and self.byte_count <= self._memory_bytes:
            for start in range(0, len(piece), _KEPT_TURN_BYTES):
                self._digest.update(piece[start : start + _KEPT_TURN_BYTES])
            self._held += piece
            return
        self._digest.update(piece)
        with self._told():
            file = self._file
            if file is None:
                file = self._begin()
                write_all(file, self._held)
                self._held.clear()
            write_all(file, piece)

    def hashed(self, name: str) -> HashedFile:
        """All that has come, under a name; mapped, if it is large."""
        return HashedFile(name, self.data, self._digest.hexdigest())

    @property
    def sha256(self) -> str:
        """SHA-256 of what has come."""
        return self._digest.hexdigest()

    @property
    def data(self) -> Bytes:
        """All that has come; mapped, if it is large."""
        if self._file is None:
            return bytes(self._held)
        if self._data is None:
            mapped = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
            self._data = memoryview(mapped)[self._start :]
        return self._data

    def become_log(self, delivery: Delivery) -> bool:
        """Make the file a log of one record, which is on disk then; False if it cannot be one.

        Args:
            delivery: The record, of which this is the dump.

        Raises:
            StoreError: The disk is full, or the folder cannot be written.
        """
        padded = delivery.padded(HEAD_BYTES)
        if self._file is None or padded is None:
            return False
        with self._told():
            for companion in padded.files[1:]:
                write_all(self._file, companion)
            os.pwrite(self._file, padded.head(key_of(self._path)), 0)
            failpoint("spool sync")
            sync_data(self._file)
            own_log(self._path)
            tally = open_tally(self._path)
            write_tally(tally, Tally(1, padded.byte_count))
            os.close(tally)
            rename(self._path, self._path.with_suffix(_SEALED))
            failpoint("spool sealed")
            unlock(self._file)  # a map of it may live on
        return True

    def close(self) -> None:
        """Let go of it; what has not become a log is gone."""
        self._held.clear()
        self._data = None
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                if self._suffix == _ZIPPED:  # others may have it open still
                    os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> int:
        self._path = name_log(self._folder, self._suffix)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(self._path, flags, self._folder.stat().st_mode & 0o666)
        lock(self._file)
        os.lseek(self._file, self._start, os.SEEK_SET)
        return self._file

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                str(self._folder),
                f"cannot be written: {error.strerror}; what is being handed over was not taken: "
                "make room and hand it over again",
            ) from error


def clear_spools(folder: Path) -> None:
    """Delete what is left in an inbox of spools whose owners were killed.

    An OSError is passed on.
    """
    for path in (*folder.glob(f"*{_SPOOLED}"), *folder.glob(f"*{_ZIPPED}")):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # its owner is done with it
            continue
        try:
            if try_lock(file):  # else its owner still writes it
                delete_log(path)
        finally:
            os.close(file)
