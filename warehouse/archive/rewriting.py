"""Segments rewritten: small ones merged, and forgotten entries erased.

A segment is never modified. Its replacement is complete on disk before the segment is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

from tracehouse.ingest.batching import batches
from tracehouse.ingest.durable import sync_path
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.archive.segments import (
    UNFINISHED,
    Segment,
    SegmentWriter,
    check_segment,
    data_bytes,
    read_entries,
)
from tracehouse.warehouse.engine.store_file import check_room
from tracehouse.warehouse.errors import write_errors

MANY_SEGMENTS = 33  # neighbouring small segments that are merged when an ingest ends
_KEPT = "nothing is lost"  # if the disk is full
SMALL_BYTES = 32 << 20  # on disk, of a segment that is worth merging
SMALL_DATA_BYTES = 256 << 20  # the same, uncompressed, so that a merge takes only seconds


def merge_segments(archive: Archive, *, least: int = 2) -> int:
    """Merge neighbouring small segments if there are at least that many.

    Nothing is lost if it raises ArchiveError for a damaged segment, or StoreError for a full disk.
    Returns the number of segment files that are gone.
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
    """Replace neighbouring segments by one with their entries, each changed by a function.

    Raises:
        ArchiveError: A segment is damaged; the archive is unchanged.
        StoreError: The disk is full or fails; the archive is unchanged.
    """
    assert all(one.last + 1 == other.first for one, other in pairwise(segments)), "a gap is hidden"
    first, last = segments[0].first, segments[-1].last
    writer = SegmentWriter(archive.folder, first)
    try:
        with write_errors(str(archive.folder), kept=_KEPT):
            check_room(archive.folder, sum(_file_bytes(one) for one in segments), kept=_KEPT)
            writer.copy(_changed(segments, change), last)
            made = writer.seal()
    except BaseException:  # an interrupt too must leave nothing half-done
        writer.discard()
        raise
    assert (made.first, made.last) == (first, last)
    delete_segments(archive, [one for one in segments if one.path != made.path])


def delete_segments(archive: Archive, segments: Sequence[Segment]) -> None:
    """Delete segments whose entries other segments hold."""
    for segment in segments:
        segment.delete()
    if segments:
        sync_path(archive.folder)


def clear_leftovers(archive: Archive) -> None:
    """Delete leftovers of killed writers: unfinished segments, and segments that were merged.

    A merged segment is deleted only if the segment with its entries is intact; otherwise this
    raises ArchiveError.
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
    """Runs of consecutive segments that are small on disk."""
    group: list[Segment] = []
    for segment in segments:
        is_small = _file_bytes(segment) < SMALL_BYTES
        if group and not (is_small and segment.first == group[-1].last + 1):
            yield group
            group = []
        if is_small:
            group.append(segment)
    if group:
        yield group


def _filled(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Groups of segments with little data, each enough for a segment that is not small."""
    for is_small, some in groupby(segments, lambda segment: _share(segment) < 1):
        if is_small:
            yield from batches(some, _share, 2)


def _share(segment: Segment) -> float:
    """Size of a segment relative to the limit for merging, at least 0."""
    on_disk = _file_bytes(segment) / SMALL_BYTES
    return max(on_disk, data_bytes(segment) / SMALL_DATA_BYTES)


def _file_bytes(segment: Segment) -> int:
    return segment.path.stat().st_size


def _changed(
    segments: Sequence[Segment], change: Callable[[Entry], Entry]
) -> Iterator[tuple[int, Entry]]:
    for segment in segments:
        for number, entry in read_entries(segment):
            yield number, change(entry)
