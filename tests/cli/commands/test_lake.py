from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.lakes import fill, real_looking_farm


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, farm = tmp_path_factory.mktemp("made") / "lake", real_looking_farm()
    fill(place, farm, [1, 2])
    fill(place, farm, [3, 4])
    return place


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "lake"))


def test_a_whole_lake_verifies_and_a_damaged_one_exits_1_and_says_what_to_do(
    run: Run, lake: Path
) -> None:
    outcome = run("lake", "verify", lake, "--format", "json")
    assert (outcome.code, json.loads(outcome.text)) == (0, [])
    next(lake.glob("devices/*.parquet")).unlink()
    outcome = run("lake", "verify", lake, "--format", "json")
    (row,) = json.loads(outcome.text)
    assert outcome.code == 1
    assert row["problem"] == "is gone"
    assert "tracehouse export lake" in row["remedy"]


def test_compacting_merges_files(run: Run, lake: Path) -> None:
    (row,) = json.loads(run("lake", "compact", lake, "--format", "json").text)
    assert row["merged_files"] > row["new_files"] > 0
    assert run("lake", "verify", lake).code == 0


@pytest.mark.parametrize("command", ["verify", "compact"])
def test_a_missing_lake_is_one_line(run: Run, tmp_path: Path, command: str) -> None:
    outcome = run("lake", command, tmp_path)
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {tmp_path}: no lake here")
