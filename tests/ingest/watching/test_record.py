"""What was taken is remembered as it was then, in a file too, until it is gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.full_disk import no_room
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.watching.follower import WatchRecord
from tracehouse.ingest.watching.places import WatchedFile

A, B, C = (WatchedFile(f"/farm/{name}.etdp", 10, 20) for name in "abc")


def test_a_file_is_known_until_its_size_or_time_changes() -> None:
    with WatchRecord(None) as taken:
        taken.add([A])
        assert A in taken
        assert B not in taken
        assert A._replace(size=11) not in taken
        assert A._replace(mtime_ns=21) not in taken


def test_taken_files_are_known_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "new" / "farm.taken"
    with WatchRecord(file) as taken:
        taken.add([A, B])
        taken.add([])
    with WatchRecord(file) as taken:
        assert (A in taken, B in taken, C in taken, len(taken)) == (True, True, False, 2)
        taken.add([C])
    assert file.stat().st_size < 50


def test_a_torn_end_is_dropped_and_the_rest_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "farm.taken"
    with WatchRecord(file) as taken:
        taken.add([A, B])
    file.write_bytes(file.read_bytes()[:-3])
    with WatchRecord(file) as taken:
        assert (A in taken, B in taken) == (True, False)
        taken.add([C])
    with WatchRecord(file) as taken:
        assert (A in taken, B in taken, C in taken) == (True, False, True)


def test_an_unwritable_record_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "farm.taken"
    with WatchRecord(file) as taken:
        monkeypatch.setattr(os, "write", no_room)
        with pytest.raises(SourceError, match=r"farm\.taken: cannot be written: No space left"):
            taken.add([A])


def test_another_kind_of_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(SourceError, match=r"notes\.txt: not the state of a watch; name another"):
        WatchRecord(file)
    assert file.read_text() == "mine"
    with pytest.raises(SourceError, match="cannot be opened: File exists"):
        WatchRecord(file / "below")


def test_deleted_files_are_forgotten_after_a_turn_and_the_record_shrinks(tmp_path: Path) -> None:
    file = tmp_path / "farm.taken"
    with WatchRecord(file) as taken:
        many = [WatchedFile(f"/farm/{number}.etdp", 1, 2) for number in range(20_000)]
        taken.add(many)
        taken.end_sweep()
        assert len(taken) == 20_000
        assert many[7] in taken
        taken.end_sweep()
        assert (len(taken), many[7] in taken, many[8] in taken) == (1, True, False)
        taken.add([A])
    assert file.stat().st_size < 100
    with WatchRecord(file) as taken:
        assert (len(taken), A in taken, many[7] in taken) == (2, True, True)
