from __future__ import annotations

import pytest

from tracehouse.ingest.errors import RecordingError
from tracehouse.ingest.recording.pairs import place_for_dump, place_for_pairs


def test_dump_in_a_folder_of_its_own_is_gone_afterwards():
    with place_for_dump(None, "models/cnn.pte") as place:
        assert place.dump.name == "cnn.etdp"
        place.dump.write_bytes(b"dump")
    assert not place.dump.parent.exists()


def test_dump_that_is_to_be_kept_is_moved_with_its_debug_buffer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with place_for_dump(None, "cnn.pte") as place:
        place.dump.write_bytes(b"dump")
        place.dump.with_suffix(".debug.bin").write_bytes(b"tensors")
        kept = place.keep()
    assert kept == [tmp_path / "cnn.debug.bin", tmp_path / "cnn.etdp"]
    assert [file.read_bytes() for file in kept] == [b"tensors", b"dump"]


def test_dump_that_the_user_places_stays_there(tmp_path):
    with place_for_dump(str(tmp_path / "a.etdp"), "cnn.pte") as place:
        place.dump.write_bytes(b"dump")
        assert place.keep() == []
    assert place.dump == tmp_path / "a.etdp"
    assert place.dump.exists()


def test_pairs_that_are_to_be_kept_are_moved_under_a_free_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cnn.pairs", "cnn-2.pairs"):
        with place_for_pairs(None, "models/cnn.pte") as place:
            (place.folder / "base-001.etdp").write_bytes(b"dump")
            assert place.keep() == [tmp_path / name]
        assert (tmp_path / name / "base-001.etdp").read_bytes() == b"dump"


def test_pairs_that_are_not_kept_are_gone_but_where_the_user_places_them(tmp_path):
    with place_for_pairs(None, "cnn.pte") as place:
        pass
    assert not place.folder.exists()
    with place_for_pairs(str(tmp_path / "kept"), "cnn.pte") as place:
        assert place.keep() == []
    assert place.folder.is_dir()
    with (
        pytest.raises(RecordingError, match="kept: cannot be created: File exists; wanted a new"),
        place_for_pairs(str(tmp_path / "kept"), "cnn.pte"),
    ):
        pass
