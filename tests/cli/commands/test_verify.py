from __future__ import annotations

from pathlib import Path

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
