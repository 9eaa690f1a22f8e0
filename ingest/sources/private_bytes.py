"""Bytes read once and kept to ourselves: what happens to a file afterwards does not change them."""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
from collections.abc import Callable
from functools import partial

from ingest.errors import SourceError

COPY_FROM_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20


def read_file(path: str, name: str, *, most_bytes: int) -> bytes | memoryview:
    """The bytes of a regular file, all of one moment.

    From COPY_FROM_BYTES on they are a read-only memory map of a private copy in the directory for
    temporary files, which has no name and is gone with the map. An OSError is passed on.

    Args:
        path: The file.
        name: What it is called in messages.
        most_bytes: Size beyond which it is not read.

    Raises:
        SourceError: It is not a regular file, is too large, or changed while it was read.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # wait for no pipe
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


def gather(read: Callable[[int], bytes | memoryview], size: int, name: str) -> bytes | memoryview:
    """All that `read` gives, call by call, until it gives nothing; one byte past `size` at most.

    Raises:
        SourceError: There is no room for a private copy.
    """
    if size >= COPY_FROM_BYTES:
        return _copy(read, size, name)
    parts: list[bytes | memoryview] = []
    count = 0
    while count <= size and (part := read(size + 1 - count)):
        parts.append(part)
        count += len(part)
    return b"".join(parts)  # not a part at a time, which would copy the first ones again and again


def _read_part(file: int, size: int, most_bytes: int) -> bytes:
    """The next bytes of a file, which is not asked whether it ends where it should.

    Its size afterwards tells that, at less cost where files are small and many.
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
                if chunk != zeros:  # a sparse file has a sparse copy
                    _write(copy.fileno(), chunk, count)
                count += len(chunk)
            os.ftruncate(copy.fileno(), count)
        except _NoRoom as error:
            raise SourceError(
                name,
                f"there is no room for a private copy in {folder} ({error}); "
                "make room, or let TMPDIR name another directory",
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
        raise _NoRoom(error.strerror) from error


class _NoRoom(Exception):  # noqa: N818 - control flow, never shown
    """The copy cannot be made larger."""
