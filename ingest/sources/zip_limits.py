"""What every zip is held to, whatever it is read for: its list of members, and how they are packed.

How many bytes may be read of it is for each kind of zip to say.
"""

from __future__ import annotations

import errno
import io
import os
import struct
import zipfile
import zlib

MAX_MEMBER_BYTES = 4 << 30
ENCRYPTED = "is encrypted"

ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)

_MEMBER_MARK = b"PK\1\2"


class DirectoryError(Exception):
    """The list of a zip's members is too long."""

    def __init__(self, unit: str, found: int, most: int) -> None:
        """Name what is too much, "bytes" or "members", and the most that is allowed."""
        super().__init__(f"{found:,} {unit}, wanted at most {most:,}")
        self.unit = unit


def open_zip(
    file: io.RawIOBase, *, most_bytes: int, most_members: int
) -> tuple[zipfile.ZipFile, io.BufferedReader]:
    """A zip whose members are listed, and what has to be closed with it.

    A damaged zip raises one of ZIP_FAULTS.

    Args:
        file: The zip.
        most_bytes: Size beyond which the list of its members is not read.
        most_members: Members beyond which the list is not taken apart.

    Raises:
        DirectoryError: The list is longer than that.
    """
    guarded = _GuardedFile(file, most_bytes, most_members)
    try:
        archive = zipfile.ZipFile(guarded)
    except BaseException:  # an interrupt too must not leave it open
        guarded.close()
        raise
    guarded.is_listed = True
    return archive, guarded


def packing_problem(info: zipfile.ZipInfo) -> str | None:
    """Why a member cannot be unpacked within bounds; None if it can."""
    if info.flag_bits & 0x1:
        return ENCRYPTED
    # Only deflate can be inflated in bounds: zipfile expands bzip2 and LZMA without a limit.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by zip method {info.compress_type}"
    return None


class _GuardedFile(io.BufferedReader):
    """A zip's file that does not give out a list of too many members.

    zipfile reads the list in one piece. What a zip says of its size and count need not be true, so
    the piece itself is looked at.
    """

    def __init__(self, file: io.RawIOBase, most_bytes: int, most_members: int) -> None:
        super().__init__(file)
        self._most_bytes, self._most_members = most_bytes, most_members
        self.is_listed = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.is_listed:
            return super().read(size)
        if size is not None and size > self._most_bytes:
            raise DirectoryError("bytes", size, self._most_bytes)
        data = super().read(size)
        count = data.count(_MEMBER_MARK)
        if count > self._most_members:
            raise DirectoryError("members", count, self._most_members)
        return data


class MemoryFile(io.RawIOBase):
    """Bytes in memory, possibly mapped, as a file: nothing is copied before it is read."""

    def __init__(self, data: bytes | memoryview) -> None:
        """Stand at the start."""
        self._data = memoryview(data).cast("B")
        self._position = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a position, which may lie beyond the end.

        Raises:
            OSError: It would lie before the start.
        """
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "a position before the start")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Copy the bytes that follow into a buffer; returns their number."""
        target = memoryview(buffer).cast("B")
        piece = self._data[self._position : self._position + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)
