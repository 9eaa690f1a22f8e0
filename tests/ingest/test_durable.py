from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingest.durable import replacing, try_lock
from tests.support.syncs import note_synced


def test_a_replaced_file_and_its_folder_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = note_synced(monkeypatch)
    path = tmp_path / "file"
    with replacing(path, 0o600) as beside:
        beside.write_bytes(b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert synced == {path.stat().st_ino, tmp_path.stat().st_ino}


def test_a_body_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as beside:
        beside.write_bytes(bytes(1 // 0))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_files_of_killed_writers_go_with_the_next_write_and_those_of_running_ones_stay(
    tmp_path: Path,
) -> None:
    path, left, other = tmp_path / "a[1]", tmp_path / ".a[1].0123abcd.tmp", tmp_path / ".a.tmp"
    left.write_bytes(b"half")
    other.write_bytes(b"another file's")
    with replacing(path) as slow:
        slow.write_bytes(b"slow")
        with replacing(path) as fast:
            fast.write_bytes(b"fast")
        assert path.read_bytes() == b"fast"
    assert path.read_bytes() == b"slow"
    assert sorted(os.listdir(tmp_path)) == [".a.tmp", "a[1]"]


def test_a_lock_shuts_out_other_descriptors_until_it_is_closed(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w") as one, open(tmp_path / "file") as other:
        assert try_lock(one.fileno())
        assert not try_lock(other.fileno(), is_shared=True)
        one.close()
        assert try_lock(other.fileno())
