"""`tracehouse simulate` writes a farm that `tracehouse ingest` takes."""

from __future__ import annotations

import json

import pytest

from tests.support.command import run_on_terminal

TINY = (
    "--devices", "2", "--builds", "3", "--models", "1", "--dumps", "2", "--iterations", "3",
)  # fmt: skip


def test_a_farm_is_written_and_counted(run, tmp_path):
    done = run("simulate", tmp_path / "farm", *TINY, "--format", "json")
    assert (done.code, done.err) == (0, "")
    (row,) = json.loads(done.out)
    dumps = list((tmp_path / "farm").glob("*/*/*/*.etdp"))
    assert row["dumps"] == len(dumps)
    assert row["megabytes"] == sum(path.stat().st_size for path in dumps) / 1e6
    truth = json.loads((tmp_path / "farm/truth.json").read_text())
    assert row["changes"] == len(truth["changes"]) == 2
    assert row["seconds"] > 0


def test_a_farm_can_be_ingested_and_its_seed_chosen(run, tmp_path):
    seeded = ("--seed", "5", "--format", "json")
    written = json.loads(run("simulate", tmp_path / "farm", *TINY, *seeded).out)[0]
    other = json.loads(run("simulate", tmp_path / "other", *TINY, "--format", "json").out)[0]
    assert written["megabytes"] != other["megabytes"]
    store = ("--store", tmp_path / "store", "--keep-going", "--format", "json")
    (ingested,) = json.loads(run("ingest", tmp_path / "farm", *store).out)
    assert ingested["events"] == written["events"]
    assert ingested["refused"] == written["truncated_dumps"]


def test_a_folder_that_is_not_empty_is_an_error(run, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = run("simulate", tmp_path, *TINY)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith(f"error: {tmp_path}: not empty; wanted a new or empty folder, or")


def test_sizes_out_of_range_are_wrong_usage(run, tmp_path):
    for option in ("--devices", "--builds", "--models", "--dumps", "--iterations"):
        assert run("simulate", tmp_path / "farm", option, "0").code == 2
    assert not (tmp_path / "farm").exists()


@pytest.mark.system
def test_a_terminal_is_told_the_size_before(tmp_path):
    shown = run_on_terminal("simulate", tmp_path / "farm", *TINY, width=300).text
    assert "about 24 dumps, 1,956 events, 0 MB" in shown.splitlines()[0]
    assert "truncated_dumps" in shown
