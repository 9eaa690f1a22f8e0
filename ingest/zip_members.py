"""Members of a zip that lies in memory: listed once, each read within bounds when asked for."""

from __future__ import annotations

import errno
import io
import os
import struct
import zipfile
import zlib
from collections import Counter

from ingest.errors import EtRecordError
from ingest.sources import INFLATION_FREE_BYTES, MAX_INFLATION, MAX_MEMBER_BYTES

_FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError,
)  # fmt: skip
_TORN = "it is damaged or cut; copy it again from where it was saved"


class ZipMembers:
    """A zip archive and the names in it."""

    def __init__(self, data: bytes | memoryview, place: str) -> None:
        """List the members of the zip in `data`, which is called `place` in messages.

        Raises:
            EtRecordError: It is no zip, a damaged one, or two members share a name.
        """
        self.place = place
        try:
            self._archive = zipfile.ZipFile(io.BufferedReader(_View(data)))
        except _FAULTS as error:
            raise EtRecordError(place, f"unreadable zip ({error}); {_TORN}") from error
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
            raise EtRecordError(self.place, f"has no member {name}")
        problem = _problem(info, most_bytes)
        if problem:
            raise EtRecordError(self.place_of(name), problem)
        try:
            with self._archive.open(info) as stream:
                return stream.read(info.file_size + 1)
        except _FAULTS as error:
            raise EtRecordError(self.place_of(name), f"unreadable ({error}); {_TORN}") from error


def _problem(info: zipfile.ZipInfo, most_bytes: int) -> str | None:
    if info.flag_bits & 0x1:
        return "is encrypted; unpack the zip and pack it again without a password"
    # Only deflate can be inflated in bounds: zipfile expands bzip2 and LZMA without a limit.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by zip method {info.compress_type}; pack it stored or deflated"
    most = min(most_bytes, max(INFLATION_FREE_BYTES, MAX_INFLATION * info.compress_size))
    if info.file_size > most:
        return f"would take {info.file_size:,} bytes, wanted at most {most:,}"
    return None


class _View(io.RawIOBase):
    """Bytes in memory, possibly mapped, as a file: nothing is copied before it is read."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data).cast("B")
        self._position = 0

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

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        piece = self._data[self._position : self._position + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)
