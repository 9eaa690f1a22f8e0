"""Private copies of files' bytes, which later changes of the files do not affect.

Files that are packed with gzip or Zstandard are unpacked within limits.
"""

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

MAX_INFLATION = 250  # largest ratio of unpacked to packed bytes
INFLATION_FREE_BYTES = 64 << 20  # anything packed may become this large

_PIECE_BYTES = 1 << 20  # unpacked at a time
_GZIP_END = 4  # bytes of the size, modulo 4 GiB, at the end
_MAGICS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_ZSTD_HEAD = 14  # bytes of the longest frame header up to the size
_IDS = (0, 1, 2, 4)  # bytes of a dictionary's id
_SIZES = (0, 2, 4, 8)  # bytes of a frame's size
_UNPACK = "unpack it and ingest what is in it"


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


def most_inflated(packed_bytes: int, *, free_bytes: int | None = None) -> int:
    """Bytes that so many packed bytes may become, and by default INFLATION_FREE_BYTES always."""
    free = INFLATION_FREE_BYTES if free_bytes is None else free_bytes
    return max(free, MAX_INFLATION * packed_bytes)


def read_declared_bytes(
    read: Callable[[int, int], bytes],
    byte_count: int,
    packing: str,
    *,
    free_bytes: int | None = None,
) -> int:
    """The unpacked size that packed data states, or else the largest one allowed.

    Data that is not packed at all, as some clients leave it under its old name, has its own size.

    Args:
        read: Returns so many bytes of the data at an offset.
        byte_count: Size of the data.
        packing: "gzip" or "zstd".
        free_bytes: What data that states no size may always become; see `most_inflated`. It is 0
            for members of a zip, the sum of whose sizes is limited.
    """
    head = read(0, _ZSTD_HEAD + max(_IDS))
    if not head.startswith(_MAGICS[packing]):
        return byte_count
    if packing == "gzip":
        return int.from_bytes(read(max(byte_count - _GZIP_END, 0), _GZIP_END), "little")
    stated = _frame_bytes(head)
    return most_inflated(byte_count, free_bytes=free_bytes) if stated is None else stated


def unpack(
    data: bytes | memoryview,
    name: str,
    packing: str,
    *,
    most_bytes: int,
    free_bytes: int | None = None,
) -> bytes | memoryview:
    """The unpacked bytes, from `COPY_FROM_BYTES` on in a private copy; data if it is not packed.

    `free_bytes` is as in `read_declared_bytes`.

    Raises:
        SourceError: The data is damaged, or would become too large.
    """
    import pyarrow as pa  # commands must start fast

    view = memoryview(data)
    if bytes(view[: len(_MAGICS[packing])]) != _MAGICS[packing]:
        return data
    stated = read_declared_bytes(
        lambda start, count: bytes(view[start : start + count]),
        len(view),
        packing,
        free_bytes=free_bytes,
    )
    allowed = min(most_bytes, most_inflated(len(view)))
    if stated > allowed:
        problem = (
            f"would inflate from {len(view):,} to {stated:,} bytes, wanted at most {allowed:,}; "
            f"if it is genuine, {_UNPACK}"
        )
        raise SourceError(name, problem, reason="too_large")
    try:
        with (
            pa.BufferReader(pa.py_buffer(view)) as reader,
            pa.CompressedInputStream(reader, packing) as stream,
        ):
            unpacked = gather(lambda size: stream.read(min(size, _PIECE_BYTES)), stated, name)
    except (OSError, EOFError, pa.ArrowException) as error:
        problem = f"damaged {packing}: {error}; copy it again"
        raise SourceError(name, problem) from error
    if len(unpacked) > stated or (packing == "gzip" and len(unpacked) < stated):
        problem = (
            f"unpacks to another size than it states or may have ({stated:,} bytes): {_UNPACK}"
        )
        raise SourceError(name, problem)
    return unpacked


def _frame_bytes(head: bytes) -> int | None:
    """The size that the header of a Zstandard frame states; None if it states none."""
    if len(head) < _ZSTD_HEAD:
        return None
    descriptor = head[4]
    is_single, kind = bool(descriptor & 0x20), descriptor >> 6
    count = _SIZES[kind] or (1 if is_single else 0)
    start = 5 + (0 if is_single else 1) + _IDS[descriptor & 3]
    if not count:
        return None
    size = int.from_bytes(head[start : start + count], "little")
    return size + 256 if count == 2 else size
