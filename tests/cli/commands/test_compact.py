from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Run


def test_a_store_is_compacted_and_its_size_told(run: Run, store: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    before = run("query", "dumps", "--store", own).text
    done = run("compact", "--store", own, "--format", "json")
    assert (done.code, done.err) == (0, "")
    (row,) = json.loads(done.text)
    assert row.keys() == {"old_bytes", "new_bytes", "n_merged_segments"}
    assert row["new_bytes"] == (own / "warehouse.duckdb").stat().st_size
    assert run("query", "dumps", "--store", own).text == before


def test_there_must_be_a_store(run: Run, tmp_path: Path) -> None:
    asked = run("compact", "--store", tmp_path / "nowhere")
    assert asked.code == 1
    assert "no store here" in asked.error
    assert not (tmp_path / "nowhere").exists()
