from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run


def dumps(run: Run, store: Path) -> list[dict[str, object]]:
    rows = json.loads(run("query", "dumps", "--store", store, "--format", "json").text)
    return list(rows)


@pytest.mark.slow
def test_changes_are_shown_and_done_only_with_yes(run: Run, farm_copy: Path) -> None:
    before = dumps(run, farm_copy)
    device, build = before[0]["device"], before[0]["build"]
    args = ("amend", "--where", f"device={device},build={build}", "--set", "build=a,b=c",
            "--set", "tags.lab=3", "--store", farm_copy, "--format", "json")  # fmt: skip
    shown = run(*args)
    assert shown.error == "note: nothing was changed; add --yes to correct these manifests"
    rows = json.loads(shown.text)
    assert {(row["field"], row["old"], row["new"]) for row in rows} == {
        ("build.id", f"'{build}'", "'a,b=c'"),
        ("tags.lab", "nothing", "'3'"),
    }
    assert dumps(run, farm_copy) == before
    done = run(*args, "--yes")
    assert (done.code, done.err, done.text) == (0, "", shown.text)
    amended = {row["dump_id"] for row in rows}
    assert {row["dump_id"] for row in dumps(run, farm_copy) if row["build"] == "a,b=c"} == amended


def test_one_dump_is_named_by_its_hash(run: Run, farm_copy: Path) -> None:
    sha256 = str(dumps(run, farm_copy)[1]["sha256"])
    done = run("amend", "--dump", sha256[:8], "--set", "os=QNX", "--yes", "--store", farm_copy)
    assert (done.code, done.err) == (0, "")
    question = "SELECT sha256 FROM named_dumps WHERE os = 'QNX'"
    found = run("sql", question, "--store", farm_copy, "--format", "csv")
    assert found.text.split() == ["sha256", sha256]


def test_a_malformed_option_is_told(run: Run, farm_copy: Path) -> None:
    for args, problem in (
        (("--where", "device", "--set", "build=x"), "found 'device', wanted FIELD=VALUE"),
        (("--set", "build=x"), "no dumps are chosen"),
        (("--where", "device=x", "--set", "bild=x"), "--set: no field 'bild'"),
    ):
        asked = run("amend", *args, "--store", farm_copy)
        assert asked.code == 2
        assert problem in asked.err
