"""Logs of an inbox: producers append records, and the consumer seals logs to read them.

Each producer has its own file, and locks it while appending. To seal a file, the consumer
renames it; nothing is appended to it after the current append.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Bytes
from tracehouse.ingest.durable import lock, sync_data, sync_path, try_lock, unlock, write_all
from tracehouse.warehouse.errors import StoreError, write_errors
from tracehouse.warehouse.inbox.records import (
    KEY_BYTES,
    Delivery,
    LoggedFile,
    LogRecord,
    Scan,
    Tally,
    add_cut,
    delete_log,
    open_tally,
    read_record,
    read_tally,
    scan_log,
    write_tally,
)

LOG_BYTES = 64 << 20  # logs of this size or more are full
MAP_BYTES = 16 << 10  # larger files in a log are mapped instead of read

NOT_ACCEPTED = "nothing was accepted"  # if the disk is full
_OPEN, _SEALED = ".log", ".sealed"
_NAME = re.compile(rf"\d{{20}}-[0-9a-f]{{{2 * KEY_BYTES}}}")
_JOINED_BYTES = 1 << 20  # written together
_PAUSE = 0.002  # seconds between attempts to lock
_CLOSED = -1  # instead of a descriptor, which the system may reuse
_LONGEST_APPEND = 30.0  # seconds to wait for the end of an append

# Keys of logs that this process writes, whose records need not be hashed again. Logs of other
# processes may be damaged, so their records are verified.
_TRUSTED: set[bytes] = set()


class LogWriter:
    """Appends to its own log; begins the next one when it is full or sealed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder
        self._file: int | None = None
        self._tally: int | None = None
        self._size = self._count = 0

    def append(self, deliveries: Sequence[Delivery]) -> None:
        """Append records; when this returns, all of them are on disk.

        Raises:
            StoreError: The disk is full, or the folder cannot be written.
        """
        with write_errors(str(self._folder), kept=NOT_ACCEPTED):
            try:
                file = self._lock_log()
                self._write(file, deliveries)
            except BaseException:  # an interrupt, too, must leave nothing half-written
                self._undo()
                raise
        self._size += sum(one.byte_count for one in deliveries)
        self._count += len(deliveries)
        with suppress(OSError):  # the dumps are on disk; a tally only helps to explain damage
            if self._tally is not None:
                write_tally(self._tally, Tally(self._count, self._size))
        unlock(file)
        if self._size >= LOG_BYTES:
            self.close()

    def close(self) -> None:
        """Close the log; the next append begins another."""
        if self._tally is not None:
            if not self._size:
                delete_log(self._path)
            self._release()

    def _lock_log(self) -> int:
        """The log, locked; the consumer cannot read a locked log."""
        while True:
            file = self._begin() if self._file is None else self._file
            lock(file)
            if self._path.exists():
                return file
            self._release()

    def _release(self) -> None:
        for file in (self._file, self._tally):
            if file is not None:
                os.close(file)
        self._file = self._tally = None

    def _begin(self) -> int:
        self._path = name_log(self._folder, _OPEN)
        self._size = self._count = 0
        self._tally = open_tally(self._path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._path, flags, self._folder.stat().st_mode & 0o666)
        trust_log(self._path)
        sync_path(self._folder)
        return self._file

    def _write(self, file: int, deliveries: Sequence[Delivery]) -> None:
        for piece in _pieces(deliveries, key_of(self._path)):
            write_all(file, piece)
        sync_data(file)
        size = self._size + sum(one.byte_count for one in deliveries)
        assert os.fstat(file).st_size == size, "a tally never says that too much is in a log"

    def _undo(self) -> None:
        """Truncate the log to its complete records, and begin another for the next append."""
        if self._file is not None:
            distrust_log(self._path)
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
        with suppress(OSError):
            self.close()


class SealedLog:
    """A sealed log that is open for reading."""

    def __init__(self, path: Path, file: int) -> None:
        self.path, self._file = path, file
        self._key = key_of(path)
        self._map: memoryview | None = None

    @classmethod
    def open(cls, path: Path) -> SealedLog | None:
        """The log at a path; None while a producer still appends to it.

        An OSError is passed on.
        """
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        deadline = time.monotonic() + _LONGEST_APPEND
        while not try_lock(file):
            if time.monotonic() >= deadline:
                os.close(file)
                return None
            time.sleep(_PAUSE)
        unlock(file)  # its producer must be able to check whether it is sealed
        return cls(path, file)

    def scan(self) -> Scan:
        """The log's records, verified unless this process wrote them; an OSError is passed on."""
        size = os.fstat(self._file).st_size
        scan = scan_log(self._file, self._key, is_trusted=self._key in _TRUSTED)
        return add_cut(scan, read_tally(self.path), size)

    def record(self, offset: int) -> LogRecord:
        """The record at an offset.

        Raises:
            StoreError: The record is gone.
        """
        record = read_record(self._file, offset, self._key)
        if record is None:
            raise StoreError(str(self.path), f"offset {offset:,}: changed while it was read")
        return record

    def read(self, part: LoggedFile) -> Bytes:
        """The bytes of a file in a record.

        Raises:
            StoreError: The bytes cannot be read.
        """
        try:
            data = self.pread(part.offset, part.byte_count)
        except OSError as error:
            raise StoreError(
                str(self.path), f"cannot be read: {error.strerror}; it is kept, try again"
            ) from error
        if len(data) != part.byte_count:
            raise StoreError(str(self.path), "changed while it was read; try again")
        return data

    def pread(self, offset: int, byte_count: int) -> Bytes:
        """Bytes at an offset, fewer at the end of the file; many bytes are mapped, not copied."""
        if byte_count < MAP_BYTES:
            return os.pread(self._file, byte_count, offset)
        if self._map is None:
            self._map = memoryview(mmap.mmap(self._file, 0, access=mmap.ACCESS_READ))
        return self._map[offset : offset + byte_count]

    def close(self) -> None:
        """Close the file, at most once; bytes that were read stay readable."""
        self._map = None  # so that `os.close` frees the pages of a deleted log, without the GIL
        os.close(self._file)
        self._file = _CLOSED
        distrust_log(self.path)


def trust_log(path: Path) -> None:
    """Mark a log as trusted: this process hashes each of its records on arrival."""
    _TRUSTED.add(key_of(path))


def distrust_log(path: Path) -> None:
    """Mark a log as not trusted: it may contain other bytes."""
    _TRUSTED.discard(key_of(path))


def seal_logs(folder: Path) -> list[Path]:
    """Seal all logs of an inbox; returns the sealed logs, oldest first.

    An append may still be under way, see `SealedLog.open`.
    """
    for path in _logs(folder, _OPEN):
        with suppress(FileNotFoundError):  # its producer has closed it, and it was empty
            path.rename(path.with_suffix(_SEALED))
    return sorted(_logs(folder, _SEALED))


def _logs(folder: Path, suffix: str) -> list[Path]:
    return [path for path in folder.glob(f"*{suffix}") if _NAME.fullmatch(path.stem)]


def find_logs(folder: Path) -> list[Path]:
    """The logs of an inbox, open and sealed."""
    return [*_logs(folder, _OPEN), *_logs(folder, _SEALED)]


def name_log(folder: Path, suffix: str = _SEALED) -> Path:
    """A path for a new log, by default for a sealed one."""
    return folder / f"{time.time_ns():020}-{secrets.token_hex(KEY_BYTES)}{suffix}"


def key_of(path: Path) -> bytes:
    """The key of a log's records, from its name."""
    return bytes.fromhex(path.stem.rpartition("-")[2])


def _pieces(deliveries: Sequence[Delivery], key: bytes) -> Iterator[Bytes]:
    """Records as pieces to write: small parts are joined, big ones are not copied."""
    parts = (part for delivery in deliveries for part in (delivery.head(key), *delivery.files))
    for some in batches(parts, len, _JOINED_BYTES):
        yield b"".join(some) if len(some) > 1 else some[0]
