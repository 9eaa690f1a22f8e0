from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.stores import writing


def test_wrong_rows_are_listed_with_the_command_that_mends_them(run: Run, farm_copy: Path) -> None:
    where = ("--store", farm_copy)
    found = run("verify", *where)
    assert (found.code, found.err.startswith("note: verified ")) == (0, True)
    with writing(farm_copy) as connection:
        connection.execute("DELETE FROM event_stats WHERE dump_id = 2")
    found = run("verify", "--all", *where, "--format", "csv")
    (row,) = found.text.splitlines()[1:]
    assert (found.code, row.startswith("2,"), ",event_stats," in row) == (1, True, True)
    assert "have wrong rows" in run("status", *where).err
    (*_, command) = found.err.strip().rstrip("'").partition("'tracehouse ")
    assert command.startswith("rebuild --dumps ")
    assert run(*command.split(), *where).code == 0
    assert run("verify", "--all", *where).code == 0
    assert "have wrong rows" not in run("status", *where).err


def test_a_sample_or_date_without_meaning_is_named(run: Run, farm_copy: Path) -> None:
    where = ("--store", farm_copy)
    assert "'--sample'" in run("verify", "--sample", "some", *where).err
    assert "since: found 'monday'" in run("verify", "--since", "monday", *where).err


@pytest.mark.system
def test_a_drill_compares_what_a_rebuild_gives_and_keeps_the_result(
    run: Run, farm_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    where = ("--store", farm_copy)
    found = run("verify", "--drill", *where)
    assert (found.code, found.err.strip()) == (
        0, "note: rebuilt 2 dumps in a scratch store, and compared all their rows",
    )  # fmt: skip
    with writing(farm_copy) as connection:
        connection.execute("UPDATE events SET duration_ticks = duration_ticks + 1")
    found = run("verify", "--drill", *where, "--format", "csv")
    rows = found.text.splitlines()[1:]
    assert (found.code, len(rows)) == (1, 2)
    assert all(row.endswith(",events,rows differ from those that a rebuild gives") for row in rows)
    assert "the last rebuild drill found wrong rows" in run("status", *where).err
    (*_, command) = found.err.strip().rstrip("'").partition("'tracehouse ")
    assert run(*command.split(), *where).code == 0
    assert run("verify", "--drill", *where).code == 0
    status = run("status", *where, "--format", "json")
    ((row),) = json.loads(status.text)
    assert (status.err, row["drill_differences"]) == ("", 0)
    assert row["drill_succeeded_at"] is not None
    assert [*(tmp_path / "scratch").iterdir()] == []


@pytest.mark.parametrize("option", [["--all"], ["--since", "2026-11-01"], ["--lake", "lake"]])
def test_a_drill_takes_no_other_choice_of_dumps(
    run: Run, farm_copy: Path, option: list[str]
) -> None:
    done = run("verify", "--drill", *option, "--store", farm_copy)
    assert (done.code, done.error) == (2, "error: --drill takes no --all, --since, --lake or --url")
