from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DUMP, Entry
from tracehouse.warehouse.archive.rewriting import clear_leftovers, merge_segments, rewrite_segments
from tracehouse.warehouse.archive.segments import PART_BYTES, ROW_GROUP_BYTES, Segment
from tracehouse.warehouse.archive.verification import verify_archive
from tracehouse.warehouse.errors import ArchiveError

NOW = datetime(2026, 11, 22, tzinfo=UTC)
Listed = list[tuple[int, str, bytes]]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


def add(archive: Archive, name: str, data: bytes = b"x", number: int = 0) -> None:
    writer = archive.begin(number)
    writer.add([Entry(DUMP, NOW, name, hashlib.sha256(data).hexdigest(), data=data)])
    writer.seal()


def listed(archive: Archive) -> Listed:
    return [(number, entry.name, bytes(entry.data)) for number, entry in archive.entries()]


def ranges(archive: Archive) -> list[tuple[int, int]]:
    return [(segment.first, segment.last) for segment in archive.files()]


def test_small_neighbours_become_one_file_with_the_same_entries(archive: Archive) -> None:
    for name in "abc":
        add(archive, name, name.encode() * (PART_BYTES + 7))
    before = listed(archive)
    assert merge_segments(archive) == 2
    assert ranges(archive) == [(1, 3)]
    assert listed(archive) == before
    assert verify_archive(archive)[0].entry_count == 3
    assert archive.begin()._first == 4
    assert merge_segments(archive) == 0


def test_rewriting_segments_frees_what_it_copied_before_reading_more(archive: Archive) -> None:
    for number in range(8):
        add(archive, f"{number}", bytes(ROW_GROUP_BYTES // 2 - 1))
    before, held = pa.total_allocated_bytes(), []

    def look(entry: Entry) -> Entry:
        held.append(pa.total_allocated_bytes() - before)
        return entry

    rewrite_segments(archive, archive.segments(), look)
    assert len(held) == 8
    assert max(held) < 2.5 * ROW_GROUP_BYTES  # what waits, what is read, and what is compressed


def test_segments_are_merged_neither_over_a_gap_nor_when_large_nor_when_few(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate("ab", 1):
        add(archive, name)
        add(archive, name, number=10 * number)
    assert merge_segments(archive, least=4) == 0
    assert merge_segments(archive) == 1
    assert ranges(archive) == [(1, 1), (11, 12), (21, 21)]
    monkeypatch.setattr("tracehouse.warehouse.archive.rewriting.SMALL_BYTES", 10)
    add(archive, "c")
    assert merge_segments(archive) == 0


def test_segments_that_compress_well_are_not_merged_repeatedly(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.archive.rewriting.SMALL_DATA_BYTES", 3 * PART_BYTES)
    for name in "abcdefgh":
        add(archive, name, bytes(PART_BYTES))
    assert sum(one.path.stat().st_size for one in archive.segments()) < PART_BYTES
    assert merge_segments(archive) == 6
    assert ranges(archive) == [(1, 5), (6, 8)]
    assert merge_segments(archive) == 0


def test_merging_clears_what_a_killed_merge_left(archive: Archive) -> None:
    for name in "abc":
        add(archive, name)
    small = {one.path: one.path.read_bytes() for one in archive.segments()}
    before = listed(archive)
    merge_segments(archive)
    for path, data in small.items():  # as if it had been killed before they were deleted
        path.write_bytes(data)
    (archive.folder / "000000000001.new").write_bytes(b"unfinished")
    assert listed(archive) == before
    clear_leftovers(archive)
    assert [path.name for path in archive.folder.iterdir()] == [archive.segments()[0].path.name]
    assert listed(archive) == before


def test_merged_segments_stay_while_the_one_that_holds_them_is_damaged(archive: Archive) -> None:
    for name in "ab":
        add(archive, name)
    small = {one.path: one.path.read_bytes() for one in archive.segments()}
    merge_segments(archive)
    for path, data in small.items():
        path.write_bytes(data)
    (merged,) = archive.segments()
    merged.path.chmod(0o600)
    os.truncate(merged.path, 500)
    with pytest.raises(ArchiveError, match="is damaged"):
        clear_leftovers(archive)
    archive.set_aside(merged)
    assert [name for _, name, _ in listed(archive)] == ["a", "b"]


def test_a_merge_of_a_damaged_segment_changes_nothing(archive: Archive) -> None:
    for name in "abc":
        add(archive, name, os.urandom(1000))
    damaged: Segment = archive.segments()[1]
    damaged.path.chmod(0o600)
    os.truncate(damaged.path, 500)
    before = sorted(archive.folder.iterdir())
    with pytest.raises(ArchiveError, match="is damaged or gone"):
        merge_segments(archive)
    assert sorted(archive.folder.iterdir()) == before
