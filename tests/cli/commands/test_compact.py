from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import Run
from tracehouse import Warehouse


@pytest.mark.slow
def test_a_store_is_compacted_and_its_size_told(run: Run, store: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    with Warehouse.open(own) as warehouse:
        warehouse.writing.execute("INSERT INTO events SELECT e.* FROM events AS e, range(4)")
    assert run("retention", "--raw-days", 0, "--yes", "--store", own).code == 0
    before = run("query", "dumps", "--store", own).text
    done = run("compact", "--store", own, "--format", "json")
    assert (done.code, done.err) == (0, "")
    (row,) = json.loads(done.text)
    assert row.keys() == {"old_bytes", "new_bytes", "n_merged_segments"}
    assert row["old_bytes"] > row["new_bytes"] == (own / "warehouse.duckdb").stat().st_size
    assert run("query", "dumps", "--store", own).text == before


@pytest.mark.slow
def test_a_store_without_room_to_give_back_stays_and_that_is_said(
    run: Run, store: Path, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    assert run("compact", "--store", own).code == 0
    before = (own / "warehouse.duckdb").stat()
    done = run("compact", "--store", own, "--format", "json")
    assert done.err == (
        "note: the DuckDB file has no space to return: a copy of it is not smaller\n"
    )
    (row,) = json.loads(done.text)
    assert row["old_bytes"] == row["new_bytes"] == before.st_size
    assert (own / "warehouse.duckdb").stat().st_ino == before.st_ino
    assert list(own.glob("*.new*")) == []


def test_there_must_be_a_store(run: Run, tmp_path: Path) -> None:
    asked = run("compact", "--store", tmp_path / "nowhere")
    assert asked.code == 1
    assert "no store here" in asked.error
    assert not (tmp_path / "nowhere").exists()
