"""Private copies of files' bytes, which later changes of the files do not affect."""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
from collections.abc import Callable
from functools import partial

from tracehouse.ingest.errors import SourceError

COPY_FROM_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20


def read_file(path: str, name: str, *, most_bytes: int) -> bytes | memoryview:
    """A consistent copy of a regular file's bytes.

    From COPY_FROM_BYTES on, the result is a read-only memory map of a nameless copy in the
    directory for temporary files, which disappears with the map. Any OSError is passed on.

    Raises:
        SourceError: The file is not regular, is too large, or changed while it was read.
    """
    file = _open_unwaiting(path, os.O_RDONLY)
    try:
        before = os.fstat(file)
        _check(before, name, most_bytes)
        data = gather(partial(_read_part, file, before.st_size), before.st_size, name)
        after = os.fstat(file)
    finally:
        os.close(file)
    is_same = (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    if len(data) != before.st_size or not is_same:
        problem = "changed while it was read; ingest it again when nothing writes to it"
        raise SourceError(name, problem, reason="changed")
    return data


def read_file_end(path: str, name: str, *, most_bytes: int) -> bytes:
    """The last bytes of a regular file, of which a runner may write more meanwhile.

    Any OSError is passed on.

    Raises:
        SourceError: The file is not regular.
    """
    with open(path, "rb", opener=_open_unwaiting) as file:
        status = os.fstat(file.fileno())
        _check(status, name, status.st_size)
        file.seek(max(status.st_size - most_bytes, 0))
        return file.read(most_bytes)


def _open_unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)  # do not wait for a pipe


def gather(read: Callable[[int], bytes | memoryview], size: int, name: str) -> bytes | memoryview:
    """All bytes that repeated calls of `read` return, at most one byte more than `size`.

    Raises:
        SourceError: There is no space for a private copy.
    """
    if size >= COPY_FROM_BYTES:
        return _copy(read, size, name)
    parts: list[bytes | memoryview] = []
    count = 0
    while count <= size and (part := read(size + 1 - count)):
        parts.append(part)
        count += len(part)
    return b"".join(parts)


def _read_part(file: int, size: int, most_bytes: int) -> bytes:
    """The next bytes of a file, without a last read that would only confirm its end.

    The caller checks the size afterwards, which is cheaper for many small files.
    """
    return os.read(file, most_bytes) if most_bytes > 1 or not size else b""


def _check(status: os.stat_result, name: str, most_bytes: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise SourceError(name, "is a folder, wanted a file")
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(name, "is not a regular file; copy its contents into one")
    if status.st_size > most_bytes:
        problem = f"is {status.st_size:,} bytes, wanted at most {most_bytes:,}"
        raise SourceError(name, problem, reason="too_large")


def _copy(read: Callable[[int], bytes | memoryview], size: int, name: str) -> memoryview:
    zeros, folder = bytes(_CHUNK_BYTES), tempfile.gettempdir()
    count = 0
    with tempfile.TemporaryFile(dir=folder) as copy:
        try:
            while count <= size and (chunk := read(min(_CHUNK_BYTES, size + 1 - count))):
                if chunk != zeros:  # keep sparse files sparse
                    _write(copy.fileno(), chunk, count)
                count += len(chunk)
            os.ftruncate(copy.fileno(), count)
        except _DiskFull as error:
            raise SourceError(
                name,
                f"there is no space for a private copy in {folder} ({error}); "
                "free some, or set TMPDIR to another directory",
            ) from error
        if not count:
            return memoryview(b"")
        return memoryview(mmap.mmap(copy.fileno(), count, access=mmap.ACCESS_READ))


def _write(file: int, chunk: bytes | memoryview, position: int) -> None:
    rest = memoryview(chunk)
    try:
        while rest:
            written = os.pwrite(file, rest, position)
            rest, position = rest[written:], position + written
    except OSError as error:
        raise _DiskFull(error.strerror) from error


class _DiskFull(Exception):  # noqa: N818 - control flow, never shown
    """The copy cannot grow."""
