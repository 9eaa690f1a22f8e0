"""Segments written anew: small ones merged, and what must go left out.

A segment is never changed: another takes its place, and is there whole before the old one goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from ingest.batching import batches
from ingest.durable import sync_path
from warehouse.archive.archive import Archive
from warehouse.archive.entries import Entry
from warehouse.archive.segments import (
    UNFINISHED,
    Segment,
    SegmentWriter,
    check_segment,
    data_bytes,
    read_entries,
)
from warehouse.engine.failpoints import failpoint
from warehouse.errors import ArchiveError

MANY_SEGMENTS = 33  # small ones that stand together, and are merged when an ingest ends
SMALL_BYTES = 32 << 20  # of a segment that is worth merging, on disk
SMALL_DATA_BYTES = 256 << 20  # likewise, of its data: so a merge takes seconds, however it packs


def merge_segments(archive: Archive, *, least: int = 2) -> int:
    """Merge small segments that stand side by side, where there are that many of them.

    An ArchiveError of a damaged one, or of a full disk, loses nothing.

    Returns:
        Segments that are files of their own no more.
    """
    merged = 0
    for neighbours in _small_neighbours(archive.segments()):
        for group in _filled(neighbours) if len(neighbours) >= least else ():
            if len(group) >= least:
                rewrite_segments(archive, group)
                merged += len(group) - 1
    return merged


def rewrite_segments(
    archive: Archive,
    segments: Sequence[Segment],
    change: Callable[[Entry], Entry] = lambda entry: entry,
) -> None:
    """Put one segment in the place of neighbours, with their entries changed one by one.

    Raises:
        ArchiveError: One is damaged, or the disk is full; all is as it was.
    """
    first, last = segments[0].first, segments[-1].last
    writer = SegmentWriter(archive.folder, first)
    try:
        writer.copy(_changed(segments, change), last)
        made = writer.seal()
    except OSError as error:
        writer.discard()
        problem = f"cannot be written: {error.strerror}; nothing is lost: make room, and try again"
        raise ArchiveError(str(archive.folder), problem) from error
    except BaseException:  # an interrupt too must leave nothing half-done
        writer.discard()
        raise
    delete_segments(archive, [one for one in segments if one.path != made.path])


def delete_segments(archive: Archive, segments: Sequence[Segment]) -> None:
    """Delete files of segments, for others hold what they held."""
    for segment in segments:
        failpoint("delete segment")
        segment.path.unlink(missing_ok=True)
    if segments:
        sync_path(archive.folder)


def clear_leftovers(archive: Archive) -> None:
    """Delete what a writer left behind that was killed: unfinished segments, and merged ones.

    These go only if the segment that holds them is whole; else it raises ArchiveError.
    """
    for path in archive.folder.glob(f"*{UNFINISHED}"):
        path.unlink(missing_ok=True)
    kept = archive.segments()
    ranges = {(one.first, one.last) for one in kept}
    merged = [one for one in archive.files() if (one.first, one.last) not in ranges]
    for segment in kept:
        if any(segment.first <= one.first <= segment.last for one in merged):
            check_segment(segment)
    delete_segments(archive, merged)


def _small_neighbours(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Those that are small on disk, as many as stand together without a gap."""
    group: list[Segment] = []
    for segment in segments:
        is_small = segment.path.stat().st_size < SMALL_BYTES
        if group and not (is_small and segment.first == group[-1].last + 1):
            yield group
            group = []
        if is_small:
            group.append(segment)
    if group:
        yield group


def _filled(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Those that hold little too, together as many as make a segment that is small no more."""
    for is_small, some in groupby(segments, lambda segment: _share(segment) < 1):
        if is_small:
            yield from batches(some, _share, 2)


def _share(segment: Segment) -> float:
    """Size of a segment, where 1 is one that is not worth merging."""
    on_disk = segment.path.stat().st_size / SMALL_BYTES
    return max(on_disk, data_bytes(segment) / SMALL_DATA_BYTES)


def _changed(
    segments: Sequence[Segment], change: Callable[[Entry], Entry]
) -> Iterator[tuple[int, Entry]]:
    for segment in segments:
        for number, entry in read_entries(segment):
            yield number, change(entry)
