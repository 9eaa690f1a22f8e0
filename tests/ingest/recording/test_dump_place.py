from __future__ import annotations

from ingest.recording.dump_place import place_for_dump


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
