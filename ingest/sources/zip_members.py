"""Members of a zip in memory: listed once, each read within limits.

The list of members takes at most MAX_DIRECTORY_BYTES, and all members read together take at most
FREE_BYTES plus as many bytes per byte of the zip as the caller allows.
"""

from __future__ import annotations

from collections import Counter
from zipfile import ZipInfo

from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.sources.zip_limits import (
    ENCRYPTED,
    MAX_MEMBER_BYTES,
    ZIP_FAULTS,
    DirectoryError,
    MemoryFile,
    NotAZipError,
    open_zip,
    packing_problem,
)

MAX_DIRECTORY_BYTES = 8 << 20  # 80,000 members of usual names
MAX_MEMBERS = MAX_DIRECTORY_BYTES // 46  # as many as fit
FREE_BYTES = 4 << 20

_FAULTS = (*ZIP_FAULTS, OSError)
_TORN = "it is damaged or truncated; copy it again from its source"
_REPACKING = {ENCRYPTED: "unpack the zip and pack it again without a password"}


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
            self._archive, _ = open_zip(
                MemoryFile(data), most_bytes=MAX_DIRECTORY_BYTES, most_members=MAX_MEMBERS
            )
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
