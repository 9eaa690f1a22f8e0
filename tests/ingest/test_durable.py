from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.syncs import note_synced
from tracehouse.ingest import durable
from tracehouse.ingest.durable import replacing, try_lock


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


@pytest.mark.system
def test_the_next_write_deletes_the_temporary_file_of_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "file"
    pid = os.fork()
    if not pid:
        with replacing(path) as temporary:
            temporary.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    (left,) = os.listdir(tmp_path)
    assert (tmp_path / left).read_bytes() == b"half"
    with replacing(path) as temporary:
        temporary.write_bytes(b"whole")
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"whole"


def test_a_pipe_or_a_broken_link_in_place_of_the_temporary_file_stops_no_write(
    tmp_path: Path,
) -> None:
    path, temporary = tmp_path / "file", tmp_path / ".file.tmp"
    temporary.symlink_to(tmp_path / "nowhere")
    with replacing(path) as file:
        file.write_bytes(b"first")
    assert temporary.is_symlink()
    assert path.read_bytes() == b"first"
    temporary.unlink()
    os.mkfifo(temporary)
    with replacing(path) as file:
        file.write_bytes(b"second")
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"second"


def test_writers_of_one_name_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as slow:
        slow.write_bytes(b"slow")
        with replacing(path) as fast:
            fast.write_bytes(b"fast")
        assert path.read_bytes() == b"fast"
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_is_taken_for_a_leftover_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = durable.lock, list[Path]()

    def lock_after_another(file: int) -> None:
        if not taken:
            taken.extend(tmp_path.iterdir())
            assert durable.delete_leftover(taken[0])
        real(file)

    monkeypatch.setattr(durable, "lock", lock_after_another)
    with replacing(tmp_path / "file") as temporary:
        temporary.write_bytes(b"whole")
    assert os.listdir(tmp_path) == ["file"]


def test_a_lock_shuts_out_other_descriptors_until_it_is_closed(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w") as one, open(tmp_path / "file") as other:
        assert try_lock(one.fileno())
        assert not try_lock(other.fileno(), is_shared=True)
        one.close()
        assert try_lock(other.fileno())
