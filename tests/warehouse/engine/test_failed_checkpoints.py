from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tests.support.full_disk import no_room
from tracehouse.warehouse.engine import failed_checkpoints
from tracehouse.warehouse.engine.connection import open_copier, open_writer
from tracehouse.warehouse.engine.failed_checkpoints import (
    RECORD_NAME,
    FailedCheckpoints,
    give_up_rebuild,
    read_failures,
    record_failure,
    record_rebuild,
)

_SETTING = "SELECT current_setting('disabled_compression_methods')"


def disabled(connection: duckdb.DuckDBPyConnection) -> str:
    with connection:
        ((value,),) = connection.execute(_SETTING).fetchall()
    return str(value).lower()


def test_a_store_without_a_record_has_no_failures(tmp_path: Path) -> None:
    assert read_failures(tmp_path) == FailedCheckpoints()
    record_rebuild(tmp_path)
    assert not (tmp_path / RECORD_NAME).exists()


def test_repeated_checkpoint_failures_disable_a_compression(tmp_path: Path) -> None:
    seen = []
    for number in range(3):
        record_failure(tmp_path, f"fault {number}")
        seen.append(read_failures(tmp_path))
    assert [one.failure_count for one in seen] == [1, 2, 3]
    assert [one.disabled_compression for one in seen] == ["", "bitpacking", "bitpacking"]
    assert [one.is_hopeless for one in seen] == [False, False, True]
    assert [one.problem for one in seen] == ["fault 0", "fault 1", "fault 2"]
    assert all(one.is_rebuild_wanted for one in seen)
    assert seen[2].failed_at is not None
    assert datetime.now(UTC) - seen[2].failed_at < timedelta(hours=1)


def test_a_rebuild_is_wanted_until_it_is_done_or_given_up(tmp_path: Path) -> None:
    record_failure(tmp_path, "fault")
    record_rebuild(tmp_path)
    rebuilt = read_failures(tmp_path)
    assert (rebuilt.is_rebuild_wanted, rebuilt.failure_count) == (False, 1)
    assert rebuilt.rebuilt_at is not None
    record_failure(tmp_path, "fault")
    give_up_rebuild(tmp_path)
    given_up = read_failures(tmp_path)
    assert (given_up.is_rebuild_wanted, given_up.failure_count) == (False, 2)
    assert given_up.rebuilt_at == rebuilt.rebuilt_at


def test_another_version_of_duckdb_resets_the_failure_record(tmp_path: Path) -> None:
    for _ in range(3):
        record_failure(tmp_path, "fault")
    kept = json.loads((tmp_path / RECORD_NAME).read_text())
    (tmp_path / RECORD_NAME).write_text(json.dumps(kept | {"duckdb": "1.5.5"}))
    assert read_failures(tmp_path) == FailedCheckpoints()
    record_failure(tmp_path, "other fault")
    found = read_failures(tmp_path)
    assert (found.failure_count, found.duckdb) == (1, duckdb.__version__)


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"failure_count": "x"}', "\xff"])
def test_a_damaged_failure_record_counts_as_no_failures(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD_NAME).write_text(text, encoding="latin-1")
    assert read_failures(tmp_path) == FailedCheckpoints()
    record_failure(tmp_path, "fault")
    assert read_failures(tmp_path).failure_count == 1


def test_writers_leave_out_the_compression_that_failed_twice(tmp_path: Path) -> None:
    for count, expected in [(0, ""), (1, ""), (2, "bitpacking")]:
        for _ in range(count - read_failures(tmp_path).failure_count):
            record_failure(tmp_path, "fault")
        assert disabled(open_writer(tmp_path / f"{count}.duckdb")) == expected
        copier = open_copier(tmp_path / f"{count}.duckdb", tmp_path / f"{count}.copy")
        assert disabled(copier) == expected


def test_a_record_of_others_can_set_no_other_value(tmp_path: Path) -> None:
    record_failure(tmp_path, "fault")
    kept = json.loads((tmp_path / RECORD_NAME).read_text())
    kept |= {"failure_count": 2, "disabled_compression": "'; DROP TABLE dumps; --"}
    (tmp_path / RECORD_NAME).write_text(json.dumps(kept))
    assert disabled(open_writer(tmp_path / "a.duckdb")) == "bitpacking"


def test_a_record_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_checkpoints, "replacing", no_room)
    record_failure(tmp_path, "fault")
    assert read_failures(tmp_path) == FailedCheckpoints()
