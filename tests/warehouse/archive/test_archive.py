from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.syncs import note_synced
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DUMP, REFUSED, Entry
from tracehouse.warehouse.errors import ArchiveError

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def add(archive: Archive, *entries: Entry) -> None:
    writer = archive.begin()
    writer.add(entries)
    writer.seal()


def test_segments_are_numbered_on_and_read_in_order(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    assert archive.segments() == []
    for i in range(12):
        add(archive, Entry(REFUSED, NOW, f"{i}"))
    assert [segment.first for segment in archive.segments()] == list(range(1, 13))
    assert [entry.name for _, entry in archive.entries()] == [f"{i}" for i in range(12)]
    assert archive.begin(40)._first == 41  # what the store has seen is not given out again


def test_a_file_is_found_by_its_hash_wherever_its_bytes_are(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, Entry(DUMP, NOW, "a", "aa", data=b"first"), Entry(DUMP, NOW, "b", "bb", data=b"2"))
    add(archive, Entry(REFUSED, NOW, "again", "aa", reason="conflict", detail="no bytes here"))
    found = archive.find("aa")
    assert found is not None
    assert (found.name, bytes(found.data)) == ("a", b"first")
    assert archive.find("cc") is None


def test_an_archive_folder_is_synced_before_a_segment_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = note_synced(monkeypatch)
    Archive(tmp_path).begin()
    assert synced == {tmp_path.stat().st_ino}


def test_unsealed_segments_are_not_read(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, Entry(REFUSED, NOW, "sealed"))
    writer = archive.begin()
    writer.add([Entry(REFUSED, NOW, "killed")])
    (archive.folder / "readme.txt").write_text("somebody's")
    assert [entry.name for _, entry in archive.entries()] == ["sealed"]
    writer.discard()


def test_a_damaged_segment_is_put_where_nothing_reads_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, Entry(REFUSED, NOW, "a"))
    (segment,) = archive.segments()
    segment.path.chmod(0o600)
    segment.path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ArchiveError, match="is damaged or gone"):
        list(archive.entries())
    moved = archive.set_aside(segment)
    assert (archive.segments(), moved.exists()) == ([], True)
