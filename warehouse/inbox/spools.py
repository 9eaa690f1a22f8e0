"""Spools for files that arrive in pieces: in memory while small, otherwise in a file of the inbox.

The file has room for the head of a record, so that it can become a log without a copy.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from contextlib import suppress
from pathlib import Path

from tracehouse.ingest.dump import Bytes, HashedFile
from tracehouse.ingest.durable import lock, rename, sync_data, try_lock, unlock, write_all
from tracehouse.warehouse.errors import write_errors
from tracehouse.warehouse.inbox.log import NOT_ACCEPTED, key_of, name_log, trust_log
from tracehouse.warehouse.inbox.records import Delivery, Tally, delete_log, open_tally, write_tally

MEMORY_BYTES = 512 << 10  # size of a file from which it is on disk
HEAD_BYTES = 64 << 10  # room for the head of a record, before the file's bytes
# Hashing more at a time releases the GIL; reacquiring the GIL takes far longer than a small hash.
_HELD_GIL_BYTES = 2047

_SPOOLED, _SEALED = ".part", ".sealed"


class Spool:
    """A file that arrives in pieces; closing the spool deletes the file, unless it became a log.

    Attributes:
        byte_count: Bytes written so far.
    """

    def __init__(self, folder: Path) -> None:
        """Use the inbox's folder."""
        self._folder, self._path = folder, folder
        self._digest = hashlib.sha256()
        self._held = bytearray()
        self._file: int | None = None
        self._data: Bytes | None = None
        self.byte_count = 0

    @property
    def is_large(self) -> bool:
        """Whether the bytes are in a file."""
        return self._file is not None

    @property
    def path(self) -> Path:
        """The spool's file; the inbox's folder while the bytes are in memory."""
        return self._path

    def write(self, piece: Bytes) -> None:
        """Append a piece.

        Raises:
            StoreError: The disk is full, or the folder cannot be written.
        """
        self.byte_count += len(piece)
        if self._file is None and self.byte_count <= MEMORY_BYTES:
            for start in range(0, len(piece), _HELD_GIL_BYTES):
                self._digest.update(piece[start : start + _HELD_GIL_BYTES])
            self._held += piece
            return
        self._digest.update(piece)
        with write_errors(str(self._folder), kept=NOT_ACCEPTED):
            file = self._file
            if file is None:
                file = self._begin()
                write_all(file, self._held)
                self._held.clear()
            write_all(file, piece)

    def hashed(self, name: str) -> HashedFile:
        """The bytes with a name and their hash."""
        return HashedFile(name, self.data, self._digest.hexdigest())

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes so far."""
        return self._digest.hexdigest()

    @property
    def data(self) -> Bytes:
        """The bytes so far, mapped if they are in a file."""
        if self._file is None:
            return bytes(self._held)
        if self._data is None:
            mapped = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
            self._data = memoryview(mapped)[HEAD_BYTES:]
        return self._data

    def become_log(self, delivery: Delivery) -> bool:
        """Turn the file into a log of one record, with this dump; False if it cannot be one.

        Raises:
            StoreError: The disk is full, or the folder cannot be written.
        """
        padded = delivery.padded(HEAD_BYTES)
        if self._file is None or padded is None:
            return False
        with write_errors(str(self._folder), kept=NOT_ACCEPTED):
            for companion in padded.files[1:]:
                write_all(self._file, companion)
            head = padded.head(key_of(self._path))
            assert len(head) == HEAD_BYTES, "the head ends where the file's bytes begin"
            assert os.fstat(self._file).st_size == padded.byte_count
            write_all(self._file, head, 0)
            sync_data(self._file)
            trust_log(self._path)
            tally = open_tally(self._path)
            write_tally(tally, Tally(1, padded.byte_count))
            os.close(tally)
            rename(self._path, self._path.with_suffix(_SEALED))
            unlock(self._file)  # a map of the file may still exist
        return True

    def close(self) -> None:
        """Delete the file, unless it became a log."""
        self._held.clear()
        self._data = None
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> int:
        self._path = name_log(self._folder, _SPOOLED)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(self._path, flags, self._folder.stat().st_mode & 0o666)
        lock(self._file)
        os.lseek(self._file, HEAD_BYTES, os.SEEK_SET)
        return self._file


def clear_spools(folder: Path) -> None:
    """Delete spools of an inbox whose owners were killed.

    An OSError is passed on.
    """
    for path in folder.glob(f"*{_SPOOLED}"):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # the owner has closed it
            continue
        try:
            if try_lock(file):  # otherwise the owner still writes it
                delete_log(path)
        finally:
            os.close(file)
