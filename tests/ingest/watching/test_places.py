"""A folder of this machine, as a watch sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import write
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.watching.places import LocalFolder, WatchedFile


def test_files_are_seen_with_size_and_time_and_folders_without(tmp_path: Path) -> None:
    place, file = LocalFolder(str(tmp_path)), write(tmp_path / "run.etdp", b"123")
    (tmp_path / "below").mkdir()
    seen = WatchedFile(str(file), 3, file.stat().st_mtime_ns)
    assert set(place.list_folder(place.root)) == {
        seen,
        WatchedFile(str(tmp_path / "below"), is_folder=True),
    }
    assert place.look(str(file)) == seen
    assert place.look(str(tmp_path / "none")) is None
    assert list(place.list_folder(str(tmp_path / "gone"))) == []


def test_watching_refuses_a_path_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="none: cannot be read: No such file"):
        LocalFolder(str(tmp_path / "none"))
    with pytest.raises(SourceError, match="cannot be read: Not a directory"):
        LocalFolder(str(write(tmp_path / "run.etdp", b"")))
