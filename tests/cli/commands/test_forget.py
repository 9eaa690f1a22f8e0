from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep import compact as compaction


def test_a_dump_is_deleted_only_with_yes(run: Run, farm_copy: Path) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    sha256 = dumps[0]["sha256"]
    args = ("forget", "--dump", sha256[:12], "--store", farm_copy, "--format", "json")
    shown = run(*args)
    assert [row["sha256"] for row in json.loads(shown.text)] == [sha256]
    assert shown.error == "note: nothing was changed; add --yes to delete these dumps for good"
    assert run("archive", "get", sha256, "--store", farm_copy).code == 0
    (farm_copy / "warehouse.duckdb.old-1").touch()
    done = run(*args, "--yes")
    assert (done.code, done.text) == (0, shown.text)
    assert done.error.endswith(
        "old-1: an old file was kept, which may contain forgotten dumps; delete it"
    )
    assert "has no file" in run("archive", "get", sha256, "--store", farm_copy).error
    left = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    assert left == dumps[1:]


def test_all_that_is_stated_must_hold(run: Run, farm_copy: Path) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    device, build = dumps[0]["device"], dumps[0]["build"]
    args = ("--device", device, "--build", build, "--store", farm_copy, "--format", "json")
    chosen = {row["dump_id"] for row in json.loads(run("forget", *args).text)}
    assert chosen == {
        row["dump_id"] for row in dumps if (row["device"], row["build"]) == (device, build)
    }
    assert 0 < len(chosen) < len(dumps)


def test_nobody_forgets_everything_by_saying_nothing(run: Run, farm_copy: Path) -> None:
    asked = run("forget", "--store", farm_copy, "--yes")
    assert (asked.code, asked.out) == (2, b"")
    assert "no dumps are chosen" in asked.error
    asked = run("forget", "--device", "nobody", "--store", farm_copy, "--yes")
    assert asked.code == 1
    assert "has no dump with device=nobody" in asked.error


@pytest.mark.slow
def test_status_tells_what_ends_a_forget_that_was_interrupted(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    args = ("--dump", dumps[0]["sha256"], "--store", farm_copy, "--yes")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "compact_store", _fail)
        done = run("forget", *args)
    assert done.code == 1
    assert "the disk is full; dumps were forgotten, but free blocks" in done.error
    done = run("status", "--store", farm_copy)
    assert (done.code, done.error.startswith("note: dumps were forgotten")) == (0, True)
    assert done.error.endswith("until 'tracehouse compact' is run")
    assert run("compact", "--store", farm_copy).code == 0
    assert run("status", "--store", farm_copy).err == ""


@pytest.mark.slow
def test_an_interrupted_forget_is_done_when_it_is_repeated(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    args = ("forget", "--dump", dumps[0]["sha256"], "--store", farm_copy, "--yes")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "compact_store", _fail)
        assert run(*args).code == 1
    done = run(*args)
    assert (done.code, done.text) == (0, "")
    assert done.error.startswith("note: completed an interrupted 'tracehouse forget'")
    assert run("status", "--store", farm_copy).err == ""
    again = run(*args)
    assert (again.code, "has no dump with" in again.error) == (1, True)


def _fail(*_: object, **__: object) -> None:
    raise StoreError("store", "the disk is full")
