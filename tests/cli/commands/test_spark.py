from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run


def test_an_inbox_without_dumps_is_reported_as_by_ingest_before_spark_starts(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "inbox").mkdir()
    outcome = run("spark", "ingest", tmp_path / "inbox", tmp_path / "lake")
    wanted = run("ingest", tmp_path / "inbox", "--store", tmp_path / "store")
    assert (outcome.code, outcome.err) == (wanted.code, wanted.err)
    assert "no dumps in this folder or below" in outcome.error
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("command", ["ingest", "watch"])
def test_a_missing_inbox_is_reported_before_spark_is_started(
    run: Run, tmp_path: Path, command: str
) -> None:
    outcome = run("spark", command, tmp_path / "nowhere", tmp_path / "lake")
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {tmp_path / 'nowhere'}: cannot be read: No such file")
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("command", ["ingest", "watch"])
def test_an_unusable_lake_is_refused_before_spark_is_started(
    run: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "a.etdp").write_bytes(b"dump")
    outcome = run("spark", command, tmp_path, tmp_path / "a.etdp")
    assert (outcome.code, "is a file, wanted the folder of a lake" in outcome.error) == (1, True)
    outcome = run("spark", command, tmp_path, tmp_path)
    assert (outcome.code, "is not a lake, and contains a.etdp" in outcome.error) == (1, True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.etdp"]
