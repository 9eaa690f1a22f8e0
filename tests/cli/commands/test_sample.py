from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Run


def test_sample_is_what_ingest_takes_and_may_be_written_again(run: Run, tmp_path: Path) -> None:
    farm, store = tmp_path / "farm", tmp_path / "store"
    first, again = (run("sample", farm, "--format", "json") for _ in range(2))
    assert first.text == again.text
    (row,) = json.loads(first.text)
    (taken,) = json.loads(run("ingest", farm, "--store", store, "--format", "json").text)
    assert (taken["dumps"], taken["refused"]) == (row["dumps"], 0)
    assert "changed" in json.loads((farm / "truth.json").read_text())


def test_another_file_in_its_place_is_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text("{}")
    done = run("sample", tmp_path)
    assert (done.code, done.text) == (1, "")
    assert "truth.json: another file has this name; wanted a new or empty folder" in done.error
    assert [path.name for path in tmp_path.iterdir()] == ["truth.json"]
