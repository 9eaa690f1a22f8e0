from __future__ import annotations

import errno
import hashlib
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tracehouse.warehouse.archive.entries import DEBUG_BUFFER, DUMP, REFUSED, Entry, Ids
from tracehouse.warehouse.archive.segments import (
    PART_BYTES,
    ROW_GROUP_BYTES,
    Segment,
    SegmentWriter,
    check_segment,
    read_entries,
)
from tracehouse.warehouse.errors import ArchiveError

NOW = datetime(2026, 11, 22, 5, 30, 1, 250, tzinfo=UTC)


def file_entry(kind: str, data: bytes) -> Entry:
    return Entry(kind, NOW, f"{kind}.bin", hashlib.sha256(data).hexdigest(), data=data)


def seal(folder: Path, entries: list[Entry], number: int = 1) -> Segment:
    writer = SegmentWriter(folder, number)
    writer.add(entries)
    return writer.seal()


def comparable(entry: Entry) -> Entry:
    data = None if entry.data is None else bytes(entry.data)
    return entry._replace(data=data, byte_count=None if data is None else len(data))


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, PART_BYTES, PART_BYTES + 1, 2 * ROW_GROUP_BYTES + 7])
def test_entries_come_back_as_they_were_whatever_their_size(tmp_path: Path, size: int) -> None:
    dump = Entry(
        DUMP, NOW, "a.etdp", "ab" * 32, Ids(7, 1, 2, 3), '{"device":{}}', "e", "b", data=b"dump"
    )
    refused = Entry(REFUSED, NOW, "b.etdp", None, reason="x", byte_offset=3, detail="why")
    entries = [dump, file_entry(DEBUG_BUFFER, os.urandom(size)), refused]
    segment = seal(tmp_path, entries, 42)
    check_segment(segment)
    assert [number for number, _ in read_entries(segment)] == [42, 42, 42]
    assert [comparable(e) for _, e in read_entries(segment)] == list(map(comparable, entries))
    bare = [entry for _, entry in read_entries(segment, with_data=False)]
    assert [entry.data for entry in bare] == [None, None, None]
    assert [entry.byte_count for entry in bare] == [4, size, None]


def test_a_file_that_fits_into_a_row_group_is_read_without_being_copied(tmp_path: Path) -> None:
    sizes = [ROW_GROUP_BYTES - 1, PART_BYTES + 1, 10, ROW_GROUP_BYTES, 2 * ROW_GROUP_BYTES + 1]
    segment = seal(tmp_path, [file_entry(DUMP, bytes(size)) for size in sizes])
    views = [entry.data for _, entry in read_entries(segment)]
    assert [len(view) for view in views] == sizes
    assert [isinstance(view.obj, pa.Buffer) for view in views] == [True, True, True, True, False]


def test_a_segment_appears_only_when_it_is_sealed_and_is_never_written_again(
    tmp_path: Path,
) -> None:
    writer = SegmentWriter(tmp_path, 3)
    writer.add([file_entry(DUMP, b"x")])
    assert not [path for path in tmp_path.iterdir() if Segment.at(path)]
    segment = writer.seal()
    assert list(tmp_path.iterdir()) == [segment.path]
    assert Segment.at(segment.path) == segment
    assert (segment.first, segment.last) == (3, 3)
    assert segment.path.stat().st_mode & 0o222 == 0


def test_ending_a_segment_puts_its_entries_on_disk_before_it_is_sealed(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 3)
    writer.add([file_entry(DUMP, b"x")])
    digest = writer.end().result()
    assert not [path for path in tmp_path.iterdir() if Segment.at(path)]
    (file,) = tmp_path.iterdir()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    assert digest.startswith(writer.seal().digest)


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_discarded_segment_leaves_no_file(tmp_path: Path, is_ended: bool) -> None:
    writer = SegmentWriter(tmp_path, 1)
    writer.add([file_entry(DUMP, os.urandom(1 << 20))])
    if is_ended:
        writer.end()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_segment_whose_name_cannot_be_synced_is_not_left_to_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writer = SegmentWriter(tmp_path, 1)
    writer.add([file_entry(DUMP, b"x")])
    monkeypatch.setattr("tracehouse.ingest.durable.sync_path", fail)
    with pytest.raises(OSError, match="Input/output error"):
        writer.seal()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_the_writer_was_given_are_let_go(tmp_path: Path) -> None:
    data = bytearray(b"x" * 100)
    seal(tmp_path, [Entry(DUMP, NOW, "a", "0" * 64, data=memoryview(data))])
    data.append(0)  # fails while anybody holds a view of it


def test_bytes_are_not_copied_before_they_are_compressed(tmp_path: Path) -> None:
    many = [file_entry(DUMP, bytes(1 << 18)) for _ in range(ROW_GROUP_BYTES >> 18)]
    seal(tmp_path, many, 2)  # all is imported
    for number, entries in enumerate((many, [file_entry(DUMP, bytes(2 * ROW_GROUP_BYTES))])):
        tracemalloc.start()
        try:
            seal(tmp_path, entries, 3 + number)
            assert tracemalloc.get_traced_memory()[1] < ROW_GROUP_BYTES / 8
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("damage", ["cut", "flip", "zeros", "empty", "gone"])
def test_damage_anywhere_in_a_segment_is_detected(tmp_path: Path, damage: str) -> None:
    segment = seal(tmp_path, [file_entry(DUMP, os.urandom(3000)) for _ in range(40)])
    whole = segment.path.read_bytes()
    segment.path.chmod(0o600)
    for place in range(0, len(whole), 1 + len(whole) // 25):
        damaged = {
            "cut": whole[:place],
            "flip": whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :],
            "zeros": whole[:place] + bytes(64) + whole[place + 64 :],
            "empty": b"",
            "gone": b"",
        }[damage]
        segment.path.write_bytes(damaged)
        if damage == "gone":
            segment.path.unlink()
        with pytest.raises(ArchiveError, match=segment.path.name):
            check_segment(segment)
        try:  # read without being checked, it is an error of ours or right
            found = [bytes(entry.data) for _, entry in read_entries(segment)]
        except ArchiveError:
            continue
        hashes = [entry.sha256 for _, entry in read_entries(segment)]
        assert [hashlib.sha256(data).hexdigest() for data in found] == hashes


def test_swapped_segments_are_detected(tmp_path: Path) -> None:
    segments = [seal(tmp_path, [file_entry(DUMP, b"xy"[n : n + 1])], 1 + n) for n in (0, 1)]
    contents = [one.path.read_bytes() for one in segments]
    for segment, content in zip(segments, reversed(contents), strict=True):
        segment.path.chmod(0o600)
        segment.path.write_bytes(content)
        with pytest.raises(ArchiveError, match="its SHA-256 begins with"):
            check_segment(segment)


def test_the_name_of_a_store_may_look_like_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("s3:x")
    folder.mkdir()
    segment = seal(folder, [file_entry(DUMP, b"x")])
    assert [bytes(entry.data) for _, entry in read_entries(segment)] == [b"x"]


def test_a_segment_has_no_more_permissions_than_its_folder(tmp_path: Path) -> None:
    for mode in (0o700, 0o755):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        segment = seal(folder, [file_entry(DUMP, b"x")])
        assert segment.path.stat().st_mode & 0o777 & ~mode == 0
