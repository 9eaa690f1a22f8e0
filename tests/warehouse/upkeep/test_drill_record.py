from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.drill_record import FILE_NAME, keep_record, read_record

NIGHT = date(2026, 11, 29)


def test_a_drill_that_finds_differences_leaves_the_last_success_as_it_was(tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    keep_record(tmp_path, NIGHT, dump_count=2, difference_count=1)
    first = read_record(tmp_path)
    assert first
    assert (first.night, first.succeeded_at, first.difference_count) == ("2026-11-29", 0.0, 1)
    keep_record(tmp_path, NIGHT, dump_count=3, difference_count=0)
    second = read_record(tmp_path)
    assert second
    assert second.succeeded_at == second.finished_at > first.finished_at
    keep_record(tmp_path, NIGHT, dump_count=3, difference_count=2)
    third = read_record(tmp_path)
    assert third
    assert (third.succeeded_at, third.dump_count) == (second.finished_at, 3)
    assert third.finished_at > second.finished_at


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"night": "2026-11-29"}', '{"other": 1}'])
def test_a_file_that_is_no_record_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert read_record(tmp_path) is None


def test_a_record_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"drill\.json.*cannot be written"):
        keep_record(tmp_path / "none", NIGHT, dump_count=1, difference_count=0)
