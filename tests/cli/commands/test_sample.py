from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Run
from tracehouse.cli.output.store_contents import NIGHTLY_REPORT


def test_sample_is_what_ingest_takes_and_may_be_written_again(run: Run, tmp_path: Path) -> None:
    farm, store = tmp_path / "farm", tmp_path / "store"
    first, again = (run("sample", farm, "--format", "json") for _ in range(2))
    assert first.text == again.text
    (row,) = json.loads(first.text)
    (taken,) = json.loads(run("ingest", farm, "--store", store, "--format", "json").text)
    assert (taken["dumps"], taken["refused"]) == (row["dumps"], 0)
    assert "changed" in json.loads((farm / "truth.json").read_text())


def test_nightly_report_of_the_sample_finds_what_became_slower(run: Run, tmp_path: Path) -> None:
    """The truth: `dw` in both backends and `mix` since night5; `seq` on portable kernels never."""
    farm, at = tmp_path / "farm", ("--store", tmp_path / "store")
    run("sample", farm)
    assert run("ingest", farm, *at).code == 0
    report = json.loads(run(*NIGHTLY_REPORT, *at, "--format", "json").text)
    (alert,) = report["groups"]
    assert (report["verdict"], alert["state"]) == ("regressions", "confirmed")
    assert (alert["last_good"], alert["first_bad"]) == ("night4", "night5")
    slower = {(one["model"], one["backend"]) for one in alert["members"]}
    assert slower == {("dw", "portable"), ("dw", "xnnpack"), ("mix", "xnnpack")}


def test_sample_does_not_overwrite_another_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text("{}")
    done = run("sample", tmp_path)
    assert (done.code, done.text) == (1, "")
    assert "truth.json: another file has this name; wanted a new or empty folder" in done.error
    assert [path.name for path in tmp_path.iterdir()] == ["truth.json"]
