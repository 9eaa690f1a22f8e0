from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import read_dump


@pytest.mark.slow
def test_nothing_goes_without_yes_and_answers_say_what_is_gone(run: Run, farm_copy: Path) -> None:
    shown = run("retention", "--raw-days", "0", "--store", farm_copy, "--format", "json")
    assert shown.error == "note: nothing was changed; add --yes to drop these events"
    rows = json.loads(shown.text)
    assert rows[0].keys() >= {"build", "dump_count", "event_count", "event_bytes"}
    assert run("query", "percentiles", "--store", farm_copy).err == ""
    done = run("retention", "--raw-days", "0", "--store", farm_copy, "--format", "json", "--yes")
    assert (done.code, done.err, json.loads(done.text)) == (0, "", rows)
    count = sum(row["dump_count"] for row in rows)
    for args in (("query", "percentiles"), ("sql", "SELECT count(*) AS n FROM events")):
        asked = run(*args, "--store", farm_copy, "--format", "csv")
        assert asked.code == 0
        assert asked.error == (
            f"note: {count} of the store's dumps have no raw events any more ('tracehouse "
            "retention'); figures from raw events do not include them"
        )


def test_builds_can_be_kept(run: Run, farm_copy: Path) -> None:
    args = ("retention", "--raw-days", "0", "--store", farm_copy, "--format", "json")
    builds = [row["build"] for row in json.loads(run(*args).text)]
    kept = run(*args, "--keep-builds", f"{builds[0][:-1]}[{builds[0][-1]}]")
    assert [row["build"] for row in json.loads(kept.text)] == builds[1:]
    nothing = run(*args, "--keep-builds", "*", "--yes")
    assert (nothing.code, nothing.err, json.loads(nothing.text)) == (0, "", [])


def test_the_age_is_required(run: Run, farm_copy: Path) -> None:
    assert run("retention", "--store", farm_copy).code == 2
    assert run("retention", "--raw-days", "-1", "--store", farm_copy).code == 2


@pytest.mark.slow
def test_with_a_lake_only_what_it_holds_goes_and_is_read_from_there(
    run: Run, farm_copy: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    before = run("query", "percentiles", "--store", farm_copy, "--format", "json")
    args = ("retention", "--raw-days", "0", "--store", farm_copy, "--format", "json", "--yes")
    assert run(*args, "--lake", lake).code == 1
    assert run("export", "lake", lake, "--store", farm_copy).code == 0
    extra = tmp_path / "extra.etdp"
    extra.write_bytes(read_dump("real/cnn_portable_n20"))
    names = ("--device", "d", "--build", "late", "--model", "m")
    assert run("ingest", extra, *names, "--store", farm_copy).code == 0
    done = run(*args, "--lake", lake)
    assert done.error == ("note: the lake lacks 1 of the dumps; run 'tracehouse export lake' first")
    assert "late" not in {row["build"] for row in json.loads(done.text)}
    again = run("query", "percentiles", "--store", farm_copy, "--lake", lake, "--format", "json")
    assert again.error.startswith("note: raw events of ")
    assert again.error.endswith(f"dumps were read from {lake}")
    wanted = {json.dumps(row) for row in json.loads(before.text)}
    assert wanted <= {json.dumps(row) for row in json.loads(again.text)}
    assert run("query", "dumps", "--store", farm_copy, "--lake", lake).err == ""
