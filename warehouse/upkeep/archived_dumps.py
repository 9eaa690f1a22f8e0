"""Dumps as the archive has them, with what later entries changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import (
    AMENDED,
    COMPANIONS,
    DROPPED,
    DUMP,
    FORGOTTEN,
    Entry,
)
from tracehouse.warehouse.archive.segments import Segment, read_entries


class ArchivedDump(NamedTuple):
    """A dump as the archive has it.

    Attributes:
        segment: Segment with its bytes.
        dump: Its entry, with its present manifest and companions, and perhaps without its bytes.
        dropped: The entry that dropped its events, if any.
    """

    segment: Segment
    dump: Entry
    dropped: Entry | None = None

    def changed_by(self, later: Entry) -> ArchivedDump:
        """The dump after a later entry about it."""
        if later.kind == DROPPED:
            return self._replace(dropped=later)
        if later.kind == AMENDED:
            changed = self.dump._replace(manifest=later.manifest, ids=later.ids)
        elif later.kind == COMPANIONS:
            changed = self.dump._replace(
                etrecord_sha256=later.etrecord_sha256 or self.dump.etrecord_sha256,
                debug_buffer_sha256=later.debug_buffer_sha256 or self.dump.debug_buffer_sha256,
            )
        else:
            return self
        return self._replace(dump=changed)


def find_archived_dumps(
    archive: Archive, hashes: Collection[str], *, indexed: Collection[int] | None = None
) -> dict[str, ArchivedDump]:
    """The archived ones among some dumps, without their bytes.

    With `indexed`, the numbers of segments that a snapshot has, later changes of dumps do not
    count, except that they were forgotten.
    """
    found: dict[str, ArchivedDump] = {}
    for segment in archive.segments():
        for number, entry in read_entries(segment, with_data=False):
            sha256 = entry.sha256 or ""
            if sha256 not in hashes:
                continue
            if entry.kind == FORGOTTEN:
                found.pop(sha256, None)
            elif indexed is not None and number not in indexed:
                continue
            elif entry.kind == DUMP:
                found[sha256] = ArchivedDump(segment, entry)
            elif sha256 in found:
                found[sha256] = found[sha256].changed_by(entry)
    return found


def read_archived(dumps: Iterable[ArchivedDump]) -> Iterator[Entry]:
    """The entries of dumps with their bytes, by segment."""
    by_segment: dict[Segment, dict[str | None, Entry]] = {}
    for one in dumps:
        by_segment.setdefault(one.segment, {})[one.dump.sha256] = one.dump
    for segment, own in by_segment.items():
        for _, entry in read_entries(segment):
            if entry.kind == DUMP and entry.sha256 in own:
                yield own.pop(entry.sha256)._replace(data=entry.data)
