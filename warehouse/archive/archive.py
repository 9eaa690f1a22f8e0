"""The archive's folder: segments in order, from which a store can be rebuilt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tracehouse.ingest.durable import rename, sync_path
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.archive.segments import Segment, SegmentWriter, read_entries
from tracehouse.warehouse.engine.store_file import ARCHIVE_FOLDER
from tracehouse.warehouse.errors import ArchiveError, QueryError, explain_failure, write_errors

_DAMAGED = "damaged"  # folder of damaged segments

_LEAST_DIGITS = 6


class Archive:
    """The archive of a store; its writer holds the store's lock."""

    def __init__(self, store: Path) -> None:
        self.folder = store / ARCHIVE_FOLDER

    def segments(self) -> list[Segment]:
        """Segments in order, without parts of merged ones.

        Raises:
            ArchiveError: The folder cannot be read.
        """
        found: list[Segment] = []
        for segment in self.files():
            if not found or segment.first > found[-1].last:
                found.append(segment)
        assert all(one.last < other.first for one, other in pairwise(found)), "ranges overlap"
        return found

    def files(self) -> list[Segment]:
        """All segment files by first number; for equal numbers, the longest range comes first.

        Raises:
            ArchiveError: The folder cannot be read.
        """
        try:
            paths = list(self.folder.iterdir()) if self.folder.is_dir() else ()
        except OSError as error:
            raise ArchiveError(
                str(self.folder), f"cannot be read: {explain_failure(error)}"
            ) from error
        listed = filter(None, (Segment.at(path) for path in paths))
        return sorted(listed, key=lambda one: (one.first, -one.last, one.path))

    def numbers(self) -> set[int]:
        """Numbers of all segments, including parts of merged ones."""
        return {n for one in self.segments() for n in range(one.first, one.last + 1)}

    def begin(self, last: int = 0) -> SegmentWriter:
        """A writer of the next segment; its number is greater than `last`.

        Raises:
            ArchiveError: The folder cannot be read.
            StoreError: The folder cannot be created.
        """
        last = max([last, *(segment.last for segment in self.segments())])
        with write_errors(str(self.folder), problem="cannot be created"):
            if not self.folder.is_dir():
                self.folder.mkdir(mode=self.folder.parent.stat().st_mode & 0o777)
                sync_path(self.folder.parent)
        return SegmentWriter(self.folder, last + 1)

    def entries(self, *, with_data: bool = True) -> Iterator[tuple[int, Entry]]:
        """All entries in order, each with its segment's number.

        Raises:
            ArchiveError: A segment is damaged or gone.
        """
        for segment in self.segments():
            yield from read_entries(segment, with_data=with_data)

    def find(self, sha256: str) -> Entry | None:
        """The entry of a file, with its bytes; None if the archive does not have the file.

        Raises:
            ArchiveError: A segment is damaged or gone.
        """
        for segment in reversed(self.segments()):
            listed = read_entries(segment, with_data=False)
            if any(entry.sha256 == sha256 for _, entry in listed):
                for _, entry in read_entries(segment):
                    if entry.sha256 == sha256 and entry.data is not None:
                        return entry
        return None

    def set_aside(self, segment: Segment) -> Path:
        """Move a damaged segment out of the archive; returns its new path."""
        folder = self.folder / _DAMAGED
        folder.mkdir(exist_ok=True)
        moved = rename(segment.path, folder / segment.path.name)
        sync_path(self.folder)
        return moved


def check_prefix(prefix: str) -> str:
    """The prefix of a SHA-256, in lower case.

    Raises:
        QueryError: The prefix has too few digits, or is not hexadecimal.
    """
    if not re.fullmatch(rf"[0-9a-fA-F]{{{_LEAST_DIGITS},64}}", prefix):
        raise QueryError(
            f"'{prefix}': wanted the first {_LEAST_DIGITS} or more hex digits of a SHA-256"
        )
    return prefix.lower()


def find_archived(store: Path, prefix: str) -> Entry:
    """The one file whose SHA-256 has the prefix, with its bytes.

    A damaged segment raises ArchiveError.

    Raises:
        QueryError: No file or several have the prefix, or it is malformed.
    """
    wanted, archive = check_prefix(prefix), Archive(store)
    found = {
        entry.sha256
        for _, entry in archive.entries(with_data=False)
        if entry.byte_count is not None and (entry.sha256 or "").startswith(wanted)
    }
    if len(found) > 1:
        raise QueryError(f"'{prefix}': {len(found)} files have this prefix; give more digits")
    entry = archive.find(found.pop() or "") if found else None
    if entry is None:
        raise QueryError(
            f"{archive.folder}: has no file whose SHA-256 begins with '{prefix}'; 'tracehouse "
            "query dumps' lists those of dumps"
        )
    return entry
