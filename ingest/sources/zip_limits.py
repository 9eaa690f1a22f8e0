"""Zips, opened within limits: on the list of members, compression methods and unpacked bytes.

The number of bytes that may be read is limited by the reader of each kind of zip.
"""

from __future__ import annotations

import errno
import io
import os
import struct
import zipfile
import zlib
from collections import Counter
from zipfile import ZipInfo

from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.file_magic import TEXT_MODE, describe_bytes, is_text_mode

MAX_MEMBER_BYTES = 4 << 30
ENCRYPTED = "is encrypted"

ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)

_MEMBER_MARK = b"PK\1\2"
_FILE_MARK = b"PK\3\4"
_HEAD_BYTES = 64 << 10
_NO_END = "File is not a zip file"  # zipfile's words
_METHODS = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd"}

MAX_MEMBERS = 65_535  # as many as a zip has without zip64
MAX_DIRECTORY_BYTES = 16 << 20
FREE_BYTES = 4 << 20
_FAULTS = (*ZIP_FAULTS, OSError)
_TORN = "it is damaged or truncated; copy it again from its source"
_REPACKING = {ENCRYPTED: "unpack the zip and pack it again without a password"}


class NotAZipError(zipfile.BadZipFile):
    """A file is another kind of file; the message says which."""


class DirectoryError(Exception):
    """The list of a zip's members is too long."""

    def __init__(self, unit: str, found: int, most: int) -> None:
        """State the exceeded limit; `unit` is "bytes" or "members"."""
        super().__init__(f"{found:,} {unit}, wanted at most {most:,}")
        self.unit = unit


def open_zip(file: io.RawIOBase) -> tuple[zipfile.ZipFile, io.BufferedReader]:
    """A zip with its members listed, and the file to close with it.

    A damaged zip raises one of ZIP_FAULTS.

    Raises:
        DirectoryError: The list exceeds a limit.
    """
    guarded = _GuardedFile(file)
    try:
        archive = zipfile.ZipFile(guarded)
    except zipfile.BadZipFile as error:
        guarded.is_listed = True
        fault = explain_bad_zip(guarded, error)
        guarded.close()
        raise fault from error
    except BaseException:  # even an interrupt must not leave the file open
        guarded.close()
        raise
    guarded.is_listed = True
    return archive, guarded


def packing_problem(info: zipfile.ZipInfo) -> str | None:
    """Why a member cannot be unpacked within limits; None if it can."""
    if info.flag_bits & 0x1:
        return ENCRYPTED
    # Only deflate can be inflated within limits: zipfile expands bzip2 and LZMA without any.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        number = info.compress_type
        return f"is packed with {_METHODS.get(number, f'zip method {number}')}"
    return None


def explain_bad_zip(file: io.BufferedReader, error: zipfile.BadZipFile) -> zipfile.BadZipFile:
    """The error with what the file is, or what became of it, as far as its first bytes tell."""
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    if not head.startswith(_FILE_MARK):
        found = describe_bytes(head)
        return NotAZipError(f"not a zip, but {found}") if found else error
    if is_text_mode(head):
        return NotAZipError(TEXT_MODE)
    if str(error) == _NO_END:
        return zipfile.BadZipFile("its end with the list of its members is missing")
    return error


class _GuardedFile(io.BufferedReader):
    """A zip's file that refuses to read a list of too many members.

    zipfile reads the list in one piece. The size and count that a zip declares may be false, so the
    piece itself is checked.
    """

    def __init__(self, file: io.RawIOBase) -> None:
        super().__init__(file)
        self.is_listed = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.is_listed:
            return super().read(size)
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise DirectoryError("bytes", size, MAX_DIRECTORY_BYTES)
        data = super().read(size)
        count = data.count(_MEMBER_MARK)
        if count > MAX_MEMBERS:
            raise DirectoryError("members", count, MAX_MEMBERS)
        return data


class MemoryFile(io.RawIOBase):
    """Bytes in memory, possibly mapped, as a file that copies nothing until it is read."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data).cast("B")
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to a position, which may be beyond the end.

        Raises:
            OSError: The position would be before the start.
        """
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "a position before the start")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read the next bytes into a buffer; returns their number."""
        target = memoryview(buffer).cast("B")
        piece = self._data[self._position : self._position + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


class ZipMembers:
    """A zip archive and the names in it."""

    def __init__(self, data: bytes | memoryview, place: str, *, inflation: int) -> None:
        """List the members of a zip.

        Args:
            data: The zip.
            place: Name of the zip in messages.
            inflation: Bytes that may be read per byte of the zip, in addition to FREE_BYTES.

        Raises:
            EtRecordError: The data is not a zip or is damaged, or the zip has too many members or
                several of the same name.
        """
        self.place = place
        self._most_bytes = FREE_BYTES + inflation * len(data)
        self._counted: set[str] = set()
        try:
            self._archive, _ = open_zip(MemoryFile(data))
        except DirectoryError as error:
            what = {"bytes": "the list of its members takes", "members": "has"}[error.unit]
            raise EtRecordError(place, f"{what} {error}; save it in several files") from error
        except NotAZipError as error:
            raise EtRecordError(place, str(error)) from error
        except _FAULTS as error:
            raise EtRecordError(place, f"unreadable zip ({error}); {_TORN}") from error
        self.names = self._archive.namelist()
        self._infos = self._archive.NameToInfo
        if len(self._infos) < len(self.names):
            twice = Counter(self.names).most_common(1)[0][0]
            raise EtRecordError(
                self.place_of(twice), "the zip has several members of this name, wanted one"
            )

    def place_of(self, name: str) -> str:
        """Name of a member in messages."""
        return f"{self.place}!{name}"

    def read(self, name: str, *, most_bytes: int = MAX_MEMBER_BYTES) -> bytes:
        """The bytes of a member.

        Raises:
            EtRecordError: The member is missing, encrypted, neither stored nor deflated, larger
                than `most_bytes`, inflates too much, or is damaged.
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

    def _count(self, info: ZipInfo) -> int:
        """Bytes that a member may take, charged to the archive's limit only the first time."""
        if info.filename in self._counted:
            return MAX_MEMBER_BYTES
        room = self._most_bytes
        if info.file_size <= room:
            self._most_bytes -= info.file_size
            self._counted.add(info.filename)
        return room


def _problem(info: ZipInfo, most_bytes: int) -> str | None:
    problem = packing_problem(info)
    if problem:
        return f"{problem}; {_REPACKING.get(problem, 'pack it stored or deflated')}"
    if info.file_size > most_bytes:
        return (
            f"would take {info.file_size:,} bytes, wanted at most {most_bytes:,}; "
            "if it is genuine, pack it stored, as ExecuTorch does"
        )
    return None
