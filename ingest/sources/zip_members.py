"""Members of a zip that lies in memory: listed once, each read within bounds when asked for.

Bounds: the list of members takes at most MAX_DIRECTORY_BYTES, and what is read of all members
together at most FREE_BYTES and as many bytes per byte of the zip as the caller allows.
"""

from __future__ import annotations

import errno
import io
import os
import struct
import zipfile
import zlib
from collections import Counter

from ingest.errors import EtRecordError
from ingest.sources.paths import MAX_MEMBER_BYTES

MAX_DIRECTORY_BYTES = 8 << 20  # 80,000 members of usual names
FREE_BYTES = 4 << 20

_FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError,
)  # fmt: skip
_TORN = "it is damaged or cut; copy it again from where it was saved"


class ZipMembers:
    """A zip archive and the names in it."""

    def __init__(self, data: bytes | memoryview, place: str, *, inflation: int) -> None:
        """List the members of the zip in `data`, which is called `place` in messages.

        Args:
            data: The zip.
            place: What it is called in messages.
            inflation: How many bytes may be read per byte of the zip, beyond FREE_BYTES.

        Raises:
            EtRecordError: It is no zip, a damaged one, has too many members, or two share a name.
        """
        self.place = place
        self._most_bytes = FREE_BYTES + inflation * len(data)
        self._counted: set[str] = set()
        file = _View(data)
        try:
            self._archive = zipfile.ZipFile(file)
        except _DirectoryError as error:
            raise EtRecordError(place, str(error)) from error
        except _FAULTS as error:
            raise EtRecordError(place, f"unreadable zip ({error}); {_TORN}") from error
        file.is_listed = True
        self.names = self._archive.namelist()
        self._infos = self._archive.NameToInfo
        if len(self._infos) < len(self.names):
            twice = Counter(self.names).most_common(1)[0][0]
            raise EtRecordError(self.place_of(twice), "this name is there twice, wanted once")

    def place_of(self, name: str) -> str:
        """What a member is called in messages."""
        return f"{self.place}!{name}"

    def read(self, name: str, *, most_bytes: int = MAX_MEMBER_BYTES) -> bytes:
        """The bytes of a member.

        Raises:
            EtRecordError: It is absent, encrypted, packed in another way than stored or deflated,
                larger than `most_bytes`, inflates beyond reason, or is damaged.
        """
        info = self._infos.get(name)
        if info is None:
            raise EtRecordError(self.place, f"has no member {name:.200}")
        problem = _problem(info, min(most_bytes, self._count(info)))
        if problem:
            raise EtRecordError(self.place_of(name), problem)
        try:
            with self._archive.open(info) as stream:
                return stream.read(info.file_size + 1)
        except _FAULTS as error:
            raise EtRecordError(self.place_of(name), f"unreadable ({error}); {_TORN}") from error

    def _count(self, info: zipfile.ZipInfo) -> int:
        """The bytes that a member may take, which it takes; one counted before is free."""
        if info.filename in self._counted:
            return MAX_MEMBER_BYTES
        room = self._most_bytes
        if info.file_size <= room:
            self._most_bytes -= info.file_size
            self._counted.add(info.filename)
        return room


def _problem(info: zipfile.ZipInfo, most_bytes: int) -> str | None:
    if info.flag_bits & 0x1:
        return "is encrypted; unpack the zip and pack it again without a password"
    # Only deflate can be inflated in bounds: zipfile expands bzip2 and LZMA without a limit.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by zip method {info.compress_type}; pack it stored or deflated"
    if info.file_size > most_bytes:
        return (
            f"would take {info.file_size:,} bytes, wanted at most {most_bytes:,}; "
            "if it is genuine, pack it stored, as ExecuTorch does"
        )
    return None


class _DirectoryError(Exception):
    """The list of a zip's members is too long."""


class _View(io.RawIOBase):
    """Bytes in memory, possibly mapped, as a file: nothing is copied before it is read.

    Until `is_listed` is set zipfile is looking for the list of members, which it reads at once.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data).cast("B")
        self._position = 0
        self.is_listed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "a position before the start")
        self._position = start + offset
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        if size > MAX_DIRECTORY_BYTES and not self.is_listed:
            raise _DirectoryError(
                f"the list of its members takes {size:,} bytes, "
                f"wanted at most {MAX_DIRECTORY_BYTES:,}; save it in several files"
            )
        end = None if size < 0 else self._position + size
        piece = bytes(self._data[self._position : end])
        self._position += len(piece)
        return piece
