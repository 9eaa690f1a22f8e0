from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_an_inbox_without_dumps_is_told_as_ingest_tells_it_before_spark_is_started(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "inbox").mkdir()
    outcome = run("spark", "ingest", tmp_path / "inbox", tmp_path / "lake")
    wanted = run("ingest", tmp_path / "inbox", "--store", tmp_path / "store")
    assert (outcome.code, outcome.err) == (wanted.code, wanted.err)
    assert "no dumps in this folder or below" in outcome.error
    assert not (tmp_path / "lake").exists()
