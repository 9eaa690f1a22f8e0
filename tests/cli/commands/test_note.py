from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Run


def test_a_note_is_written_listed_and_withdrawn(run: Run, farm_copy: Path) -> None:
    def notes(*args: str) -> list[dict[str, object]]:
        rows = run("query", "notes", *args, "--store", farm_copy, "--format", "json").text
        return [
            {name: row[name] for name in ("note_id", "text", "build")} for row in json.loads(rows)
        ]

    dump = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)[0]
    on = f"build={dump['build']},device={dump['device']},ordinal=1"
    args = ("--store", farm_copy, "--format", "json")
    (row,) = json.loads(run("note", "known: see PR 123", "--on", on, *args).text)
    expected = {"note_id": row["note_id"], "text": "known: see PR 123", "build": dump["build"]}
    assert (row["device"], row["ordinal"], row["model"]) == (dump["device"], 1, None)
    assert notes("--device", dump["device"]) == [expected]
    others = json.loads(run("query", "dumps", *args).text)
    other = next(one["device"] for one in others if one["device"] != dump["device"])
    assert notes("--device", other) == []
    assert run("note", "--withdraw", row["note_id"], *args).code == 0
    assert notes() == []
    again = run("note", "--withdraw", row["note_id"], *args)
    assert (again.code, "see 'tracehouse query notes'" in again.error) == (1, True)


def test_points_without_a_value_are_a_usage_error(run: Run, farm_copy: Path) -> None:
    outcome = run("note", "x", "--on", "build", "--store", farm_copy)
    assert (outcome.code, "found 'build', wanted FIELD=VALUE" in outcome.err) == (2, True)


def test_a_note_on_points_that_no_dump_has_is_not_written(run: Run, farm_copy: Path) -> None:
    outcome = run("note", "x", "--on", "build=never,device=nobody", "--store", farm_copy)
    assert outcome.code == 1
    assert "no dump has build 'never', device 'nobody'" in outcome.error
