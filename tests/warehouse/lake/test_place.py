from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.errors import LakeError
from warehouse.lake.layout import FORMAT_FILE
from warehouse.lake.place import Lake


def test_a_file_that_fails_to_be_written_is_not_there(tmp_path: Path) -> None:
    with (
        pytest.raises(TypeError),
        Lake(tmp_path).writing("events/a.parquet") as stream,
    ):
        stream.write(5)
    assert list((tmp_path / "events").iterdir()) == []


def test_an_unfinished_file_is_hidden_from_other_engines(tmp_path: Path) -> None:
    with Lake(tmp_path).writing("events/a.parquet") as stream:
        stream.write(b"half")
        (unfinished,) = (tmp_path / "events").iterdir()
        assert unfinished.name.startswith(".")
        assert not unfinished.name.endswith(".parquet")


def test_a_full_or_forbidden_place_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    with pytest.raises(LakeError, match=r"lake: .*; check the address"):
        Lake(tmp_path / "lake").begin()


def test_a_lake_of_another_tracehouse_is_not_touched(tmp_path: Path) -> None:
    Lake(tmp_path).write(FORMAT_FILE, b'{"format": 2, "schema": 7}')
    with pytest.raises(LakeError, match="this tracehouse knows format 1"):
        Lake(tmp_path).begin()
    Lake(tmp_path).write(FORMAT_FILE, b"{")
    with pytest.raises(LakeError, match="is not JSON"):
        Lake(tmp_path).check()


def test_keys_in_an_address_are_not_told() -> None:
    assert Lake("s3://key:secret@bucket/lake?region=us-east-1").name == "s3://bucket/lake"
