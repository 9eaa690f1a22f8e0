"""The system tells of files that were written or renamed, and of new folders; or of nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.stores import write
from tracehouse.ingest.watching.follower import Notices

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify")


def test_files_are_noticed_when_they_are_closed_or_renamed(tmp_path: Path) -> None:
    with Notices() as notices:
        notices.watch(str(tmp_path))
        with (tmp_path / "open.etdp").open("wb") as file:
            file.write(b"x")
            file.flush()
            assert notices.read() == ([], [])
        assert notices.read() == ([str(tmp_path / "open.etdp")], [])
        (tmp_path / "open.etdp").rename(tmp_path / "other.etdp")
        assert notices.read() == ([str(tmp_path / "other.etdp")], [])


def test_new_folders_are_noticed_and_deleted_ones_are_no_longer_watched(tmp_path: Path) -> None:
    with Notices() as notices:
        notices.watch(str(tmp_path))
        below = tmp_path / "below"
        for _ in range(2):
            below.mkdir()
            assert notices.read() == ([], [str(below)])
            notices.watch(str(below))
            written = write(below / "run.etdp", b"x")
            assert notices.read() == ([str(written)], [])
            written.unlink()
            below.rmdir()
            notices.read()


def test_disabled_notices_report_nothing(tmp_path: Path) -> None:
    with Notices(is_on=False) as notices:
        notices.watch(str(tmp_path))
        write(tmp_path / "run.etdp", b"x")
        assert notices.read() == ([], [])


def test_a_folder_that_cannot_be_watched_is_left_out(tmp_path: Path) -> None:
    with Notices() as notices:
        notices.watch(str(tmp_path / "none"))
        assert notices.read() == ([], [])
