from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from warehouse import Warehouse


@pytest.fixture
def own(store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(store, tmp_path / "own.store"))


def test_people_see_a_line_per_fact_that_is_known(run: Run, own: Path) -> None:
    done = run("status", "--store", own)
    assert (done.code, done.err) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in done.text.splitlines()[1:])
    assert (facts["is_locked"], facts["dumps"], facts["events"]) == ("false", "148", "219,496")
    assert facts.keys().isdisjoint({"problem", "counted_at", "writer_process_id"})


def test_programs_see_one_row(run: Run, own: Path) -> None:
    with Warehouse.open(own):
        done = run("status", "--store", own, "--format", "json")
    assert (done.code, done.err) == (0, "")
    ((row),) = json.loads(done.text)
    assert (row["problem"], row["is_locked"], row["dumps"]) == ("", True, None)
    assert row["snapshot_ages_seconds"] == []


def test_a_damaged_store_is_told_by_the_exit_and_on_standard_error(run: Run, own: Path) -> None:
    (own / "warehouse.duckdb").write_bytes(b"DUCK" * 10_000)
    done = run("status", "--store", own, "--format", "json")
    assert done.code == 1
    ((row),) = json.loads(done.text)
    assert done.error == f"error: {own}: {row['problem']}"
    assert done.error.endswith("'tracehouse rebuild'")


def test_where_there_is_no_store_it_fails(run: Run, tmp_path: Path) -> None:
    done = run("status", "--store", tmp_path / "none")
    assert done.code == 1
    assert "none: no store here" in done.error
