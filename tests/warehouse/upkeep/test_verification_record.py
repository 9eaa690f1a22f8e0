from __future__ import annotations

from pathlib import Path

import pytest

from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.verification_record import (
    FILE_NAME,
    VerificationRecord,
    forget_damages,
    read_record,
    record_verification,
)


def test_wrong_rows_are_known_until_their_dump_is_verified_again(tmp_path: Path) -> None:
    assert read_record(tmp_path) == VerificationRecord()
    wrong = {"a": "events", "b": "runs"}
    record_verification(tmp_path, {"a", "b"}, dumps=wrong, tables=["tensors"], is_whole=False)
    found = read_record(tmp_path)
    assert (found.dumps, found.tables, found.succeeded_at) == (wrong, ["tensors"], 0.0)
    record_verification(tmp_path, {"b"}, dumps={}, tables=[], is_whole=False)
    found = read_record(tmp_path)
    assert (found.dumps, found.tables) == ({"a": "events"}, ["tensors"])
    assert found.succeeded_at > 0
    record_verification(tmp_path, {"a"}, dumps={}, tables=[], is_whole=True)
    later = read_record(tmp_path)
    assert (later.dumps, later.tables) == ({}, [])
    assert later.succeeded_at > found.succeeded_at


def test_only_the_service_changes_the_verification_turn(tmp_path: Path) -> None:
    record_verification(tmp_path, set(), dumps={}, tables=[], is_whole=False, turn=3)
    record_verification(tmp_path, set(), dumps={"a": "runs"}, tables=[], is_whole=True)
    assert read_record(tmp_path).turn == 3


def test_a_rebuilt_store_has_no_known_damage(tmp_path: Path) -> None:
    forget_damages(tmp_path)
    assert not (tmp_path / FILE_NAME).exists()
    record_verification(tmp_path, set(), dumps={"a": "runs"}, tables=["b"], is_whole=True, turn=9)
    forget_damages(tmp_path)
    assert read_record(tmp_path) == VerificationRecord(turn=9)


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"other": 1}'])
def test_a_malformed_verification_record_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert read_record(tmp_path) == VerificationRecord()


def test_an_unwritable_record_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"verified\.json.*cannot be written"):
        record_verification(tmp_path / "none", set(), dumps={}, tables=[], is_whole=True)
