"""Mistyped addresses of lakes, through all commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run

COMMANDS = [
    ("export", "lake", "LAKE", "--store", "STORE"),
    ("query", "dumps", "--lake", "LAKE"),
    ("sql", "SELECT 1", "--lake", "LAKE", "--store", "STORE"),
    ("store", "retention", "--raw-days", "0", "--lake", "LAKE", "--store", "STORE"),
    ("lake", "verify", "LAKE"),
    ("lake", "compact", "LAKE"),
    ("spark", "ingest", ".", "LAKE"),
    ("spark", "watch", ".", "LAKE"),
    ("spark", "query", "dumps", "--lake", "LAKE"),
    ("spark", "report", "--lake", "LAKE"),
]


@pytest.fixture
def run_in_empty(run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line with STORE in it in an empty folder."""
    monkeypatch.chdir(tmp_path)
    own = {"STORE": store.absolute()}
    return lambda *args: run(*(own.get(str(arg), arg) for arg in args))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_an_empty_address_is_refused_by_every_command_and_nothing_is_made(
    run_in_empty: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    outcome = run_in_empty(*("" if word == "LAKE" else word for word in command))
    assert outcome.code == 2
    assert outcome.error.startswith(
        "error: '': not the address of a lake; wanted a folder or a URI"
    )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["s3:/bucket/lake", "s3//bucket/lake"])
def test_a_mistyped_uri_makes_no_folder(run_in_empty: Run, tmp_path: Path, address: str) -> None:
    outcome = run_in_empty("export", "lake", address, "--store", "STORE")
    assert outcome.code == 2
    assert "write s3://bucket/lake" in outcome.error
    assert not any(tmp_path.iterdir())
