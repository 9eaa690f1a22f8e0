"""A checksum of a store's write-ahead log, in a file next to the log.

DuckDB's own checksum adds words up, so zeros in a stretch of equal values can pass unnoticed: the
store would open and give wrong answers. Therefore, after each commit, this module extends a CRC-32
of the whole log by the appended bytes, and checks it before DuckDB reads the log again.

The record is never ahead of the disk, because DuckDB syncs the log before a commit ends. The record
may be behind: a process was killed after a commit, and the log continues after the recorded bytes.
The record may also be of an earlier log, before a checkpoint; the headers of logs differ.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from contextlib import suppress
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import duckdb

from tracehouse.warehouse.engine.store_file import log_of

SUM_SUFFIX = ".sum"

# DuckDB's format version, the database's UUID and number of its last checkpoint, as varints.
_VARINT = rb"[\x80-\xff]*[\0-\x7f]"
_HEADER = re.compile(rb"d\0be\0.f\0\x10(?:%b){16}g\0(%b)\xff\xff" % (_VARINT, _VARINT), re.DOTALL)
_HEADER_BYTES = 64  # at most
_PART_BYTES = 1 << 17

# CRC-32 of the log's header, CRC-32 of the log, its size, number of the checkpoint before it.
_SUM = struct.Struct("<IIQQ")
_CHECK = struct.Struct("<I")  # CRC-32 of the four
_FILE_HEADERS = struct.Struct("<4104xQ4088xQ")  # of a database: two numbers of checkpoints
_SUM_BYTES = _SUM.size + _CHECK.size

# The log, and the file with its checksum, by the connection that writes the log.
_logs: WeakKeyDictionary[duckdb.DuckDBPyConnection, tuple[Path, Path]] = WeakKeyDictionary()


class LogDamage(duckdb.OperationalError):
    """A log differs from the committed one; worded like DuckDB's own errors."""


class _Sum(NamedTuple):
    header: int
    total: int
    size: int
    checkpoint: int


def sum_of(file: Path) -> Path:
    """The file with the checksum of a database's log."""
    return file.with_name(log_of(file).name + SUM_SUFFIX)


def track_log(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Enable `record_commit` for the log that this connection writes."""
    _logs[connection] = log_of(file.absolute()), sum_of(file.absolute())


def record_commit(connection: duckdb.DuckDBPyConnection) -> None:
    """Extend the checksum of the log that the connection writes, if tracked."""
    if connection in _logs:
        # If the log cannot be read, the commit is valid anyway, and the log is not checked.
        with suppress(OSError):
            _record(*_logs[connection])


def check_log(file: Path) -> None:
    """Check that a database's log begins with the recorded bytes, if any.

    Raises:
        LogDamage: The log was truncated, changed or deleted.
    """
    problem, known = "", None
    with suppress(OSError):  # no record, no log, or a log that DuckDB cannot read either
        known = _unpack(sum_of(file).read_bytes())
        with open(log_of(file), "rb") as log:
            if known and os.fstat(log.fileno()).st_size:
                problem = _compare(log.fileno(), known)
    if known and _is_gone(file, known):
        problem = f"is gone, with {known.size:,} bytes of committed data"
        if log_of(file).exists():
            problem = f"is truncated: 0 bytes of {known.size:,} are left"
    if problem:
        raise LogDamage(f"corrupt WAL: {log_of(file).name} {problem}")


def delete_log_sum(file: Path) -> None:
    """Delete the record of a log that no longer exists."""
    if not log_of(file).exists():
        with suppress(OSError):  # harmless: a later log has another header
            sum_of(file).unlink()


def _is_gone(file: Path, known: _Sum) -> bool:
    """Whether a log is absent or empty, under any name, although no checkpoint has absorbed it.

    DuckDB leaves an empty log where the disk became full in the first commit after a checkpoint.
    """
    logs = [path for path in file.parent.glob(f"{file.name}*wal*") if path != sum_of(file)]
    if any(path.stat().st_size for path in logs):
        return False
    with suppress(OSError, struct.error), open(file, "rb") as database:
        headers = _FILE_HEADERS.unpack(database.read(_FILE_HEADERS.size))
        return bool(known.checkpoint == max(headers))
    return False


def _compare(log: int, known: _Sum) -> str:
    """The damage of a log; empty if it is intact."""
    found, size = _read_header(log), os.fstat(log).st_size
    if found is not None and found[0] != known.header:
        return ""  # a later log, or the log of another database, which DuckDB reports
    if size < known.size:
        return f"is truncated: {size:,} bytes of {known.size:,} are left"
    if _add(log, 0, 0, known.size) != known.total:
        return f"differs from the committed log within its first {known.size:,} bytes"
    return ""


def _record(log: Path, kept: Path) -> None:
    with open(log, "rb", buffering=0) as source:
        found = os.fstat(source.fileno())
        opener = partial(_open_or_make, mode=found.st_mode & 0o666)
        with open(kept, "r+b", buffering=0, opener=opener) as target:
            known, begun = _unpack(target.read(_SUM_BYTES)), _read_header(source.fileno())
            if begun is None:
                return
            header, checkpoint = begun
            if known is None or known.header != header or known.size > found.st_size:
                known = _Sum(header, 0, 0, checkpoint)
            total = _add(source.fileno(), known.total, known.size, found.st_size)
            assert known.size <= found.st_size, "the record never runs ahead of the disk"
            data = _SUM.pack(header, total, found.st_size, checkpoint)
            os.pwrite(target.fileno(), data + _CHECK.pack(zlib.crc32(data)), 0)


def _open_or_make(path: str, flags: int, mode: int) -> int:
    return os.open(path, flags | os.O_CREAT, mode)


def _read_header(log: int) -> tuple[int, int] | None:
    """CRC-32 of a log's header and number of the checkpoint before it; None without a header."""
    found = _HEADER.match(os.pread(log, _HEADER_BYTES, 0))
    if not found:
        return None
    digits = (byte & 0x7F for byte in reversed(found[1]))
    return zlib.crc32(found[0]), reduce(lambda number, digit: number << 7 | digit, digits)


def _unpack(data: bytes) -> _Sum | None:
    """The record in these bytes; None if they are torn."""
    if len(data) < _SUM_BYTES:
        return None
    (check,) = _CHECK.unpack_from(data, _SUM.size)
    is_whole = zlib.crc32(data[: _SUM.size]) == check
    return _Sum(*_SUM.unpack_from(data)) if is_whole else None


def _add(log: int, total: int, start: int, end: int) -> int:
    """The checksum `total` of the bytes before `start`, extended by the bytes up to `end`."""
    while start < end and (part := os.pread(log, min(_PART_BYTES, end - start), start)):
        total = zlib.crc32(part, total)
        start += len(part)
    return total
