from __future__ import annotations

import errno
import json
import re
import tempfile
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.layout import FORMAT_FILE, SCHEMA
from tracehouse.warehouse.lake.place import Lake


def test_a_file_that_fails_to_be_written_is_not_there(tmp_path: Path) -> None:
    with (
        pytest.raises(TypeError),
        Lake(tmp_path).writing("events/a.parquet") as stream,
    ):
        stream.write(5)
    assert list((tmp_path / "events").iterdir()) == []


def object_store(folder: Path) -> Lake:
    """A lake on what has no renames: an object is there once the stream that wrote it is closed."""
    lake = Lake(folder)
    lake.files, lake.is_local = pafs.SubTreeFileSystem(str(folder), pafs.LocalFileSystem()), False
    lake.root = "lake"
    lake.files.create_dir(lake.root)
    return lake


def write_half(lake: Lake, path: str) -> None:
    """Begin a file, and be told to stop."""
    with lake.writing(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt


def test_a_write_that_is_broken_off_makes_no_object_and_leaves_that_of_another(
    tmp_path: Path,
) -> None:
    lake = object_store(tmp_path)
    lake.write("a.parquet", b"whole")
    for path in ("a.parquet", "b.parquet"):
        with pytest.raises(KeyboardInterrupt):
            write_half(lake, path)
    assert [file.path for file in lake.list()] == ["a.parquet"]
    assert lake.read("a.parquet") == b"whole"


def test_an_unfinished_file_is_hidden_from_other_engines(tmp_path: Path) -> None:
    with Lake(tmp_path).writing("events/a.parquet") as stream:
        stream.write(b"half")
        (unfinished,) = (tmp_path / "events").iterdir()
        assert unfinished.name.startswith(".")
        assert not unfinished.name.endswith(".parquet")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc")
def test_a_lake_whose_folder_cannot_be_made_is_an_error_that_names_it() -> None:
    with pytest.raises(LakeError, match=r"/proc/lake: .*; check the address"):
        Lake("/proc/lake").begin()


def test_a_file_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"a\.parquet"), Lake(tmp_path).opened("a.parquet"):
        pass


@pytest.mark.parametrize(("format_", "schema"), [(1, SCHEMA - 1), (1, SCHEMA + 1), (2, SCHEMA)])
def test_a_lake_of_another_format_or_schema_is_not_touched(
    tmp_path: Path, format_: int, schema: int
) -> None:
    text = json.dumps({"format": format_, "schema": schema})
    Lake(tmp_path).write(FORMAT_FILE, text.encode())
    wanted = re.escape(f'is {text}, but this tracehouse reads {{"format": 1, "schema": {SCHEMA}}}')
    for use in (Lake.begin, Lake.check):
        with pytest.raises(LakeError, match=f"{wanted}.* export its store again"):
            use(Lake(tmp_path))
    assert (tmp_path / FORMAT_FILE).read_text() == text


def test_a_lake_whose_format_is_damaged_is_not_read(tmp_path: Path) -> None:
    for text in (b"{", b"[" * 100_000):
        (tmp_path / FORMAT_FILE).unlink(missing_ok=True)
        Lake(tmp_path).write(FORMAT_FILE, text)
        with pytest.raises(LakeError, match="is not JSON: restore it from a copy"):
            Lake(tmp_path).check()


def test_keys_in_an_address_are_not_told() -> None:
    assert Lake("s3://key:secret@bucket/lake?region=us-east-1").name == "s3://bucket/lake"


@pytest.mark.parametrize("is_local", [True, False])
def test_a_lake_is_not_created_among_other_files(tmp_path: Path, is_local: bool) -> None:
    (tmp_path / "lake/night").mkdir(parents=True)
    (tmp_path / "lake/night/run.etdp").write_bytes(b"dump")
    lake = Lake(tmp_path / "lake") if is_local else object_store(tmp_path)
    with pytest.raises(
        LakeError, match="is not a lake, and contains night; wanted an empty or new"
    ):
        lake.begin()
    assert [file.path for file in lake.list()] == ["night/run.etdp"]


@pytest.mark.parametrize("is_local", [True, False])
def test_a_lake_whose_first_write_was_interrupted_can_be_used(
    tmp_path: Path, is_local: bool
) -> None:
    (tmp_path / "lake/_lake").mkdir(parents=True)
    (tmp_path / "lake/_lake/.format.json.0123abcd.tmp").write_bytes(b"{")
    lake = Lake(tmp_path / "lake") if is_local else object_store(tmp_path)
    lake.begin()
    assert lake.exists()


def test_a_lake_that_lost_its_mark_gets_it_again(tmp_path: Path) -> None:
    for path in ("_lake/commits/a.json", "dumps/a.parquet"):
        Lake(tmp_path).write(path, b"{}")
    Lake(tmp_path).begin()
    assert Lake(tmp_path).exists()


def test_a_new_disk_and_hidden_files_are_as_good_as_empty(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".DS_Store").touch()
    Lake(tmp_path).begin()
    assert Lake(tmp_path).exists()


def test_a_full_disk_under_a_lake_is_reported_as_such(tmp_path: Path) -> None:
    for number in (errno.ENOSPC, errno.EDQUOT):
        with (
            pytest.raises(LakeError, match="the disk is full; committed data is safe: free some"),
            Lake(tmp_path).writing("events/a.parquet"),
        ):
            raise OSError(number, "said by the system")
    lake = object_store(tmp_path)  # for which files are kept here on their way
    folder = re.escape(tempfile.gettempdir())
    with pytest.raises(LakeError, match=f"disk with {folder} is full"), lake.writing("a"):
        raise OSError(errno.ENOSPC, "said by the system")


def test_a_disk_that_fails_is_not_taken_for_a_wrong_address(tmp_path: Path) -> None:
    problem = "said by the system; committed data is safe: repair the disk and run the command"
    with pytest.raises(LakeError, match=problem), Lake(tmp_path).writing("events/a.parquet"):
        raise OSError(errno.EIO, "said by the system")


def test_a_file_in_place_of_a_lake_is_refused_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    for use in (Lake(tmp_path / "lake").begin, Lake(tmp_path / "lake").check):
        with pytest.raises(LakeError, match=r"lake: is a file, wanted the folder of a lake; check"):
            use()
