"""Verification of the archive: its segments, the files in them, and missing segments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import duckdb

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.history import read_indexed
from tracehouse.warehouse.archive.segments import Segment, check_segment, read_entries
from tracehouse.warehouse.engine.connection import open_reader, use_database
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import ArchiveError


class SegmentCheck(NamedTuple):
    """Result for one segment.

    Attributes:
        first: Number of the first segment in the file.
        last: Number of the last segment in the file.
        entry_count: Entries that could be read.
        file_count: Files among them.
        byte_count: Bytes of these files.
        problem: The damage; empty if the segment is intact.
    """

    first: int
    last: int
    entry_count: int
    file_count: int
    byte_count: int
    problem: str


def verify_archive(
    archive: Archive,
    known: Collection[int] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[SegmentCheck]:
    """Results of reading every segment, in order, then one for each missing segment.

    Segments of `known` numbers are missing if they are not there; `progress` is called with the
    numbers of segments done and in all.
    """
    segments = archive.segments()
    found = []
    for segment in segments:
        found.append(_verify(segment))
        if progress:
            progress(len(found), len(segments))
    missing = sorted(set(known) - archive.numbers())
    gone = [SegmentCheck(number, number, 0, 0, 0, "is gone") for number in missing]
    return found + gone


def _verify(segment: Segment) -> SegmentCheck:
    entries = files = size = 0
    try:
        check_segment(segment)
        for _, entry in read_entries(segment):
            entries += 1
            if entry.data is not None:
                files += 1
                size += len(entry.data)
                _check_file(segment, entry.sha256, entry.data)
    except ArchiveError as error:
        return SegmentCheck(segment.first, segment.last, entries, files, size, error.problem)
    return SegmentCheck(segment.first, segment.last, entries, files, size, "")


def _check_file(segment: Segment, sha256: str | None, data: memoryview) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        problem = f"has a file of SHA-256 {found} instead of {sha256}"
        raise ArchiveError(str(segment.path), problem)


def indexed_segments(store: Path) -> set[int]:
    """Numbers of the segments whose entries are in the store; empty if the store cannot be read."""
    try:
        with open_reader(store / FILE_NAME) as connection:
            use_database(connection)
            return read_indexed(connection)
    except duckdb.Error:  # damaged, locked, old or gone: the archive can be verified without it
        return set()
