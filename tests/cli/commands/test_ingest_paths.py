"""Paths that cannot be read, beside others that can."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS

DUMP = CORPUS / "real" / "load_only.etdp"
NAMES = ("--device", "d1", "--build", "b1", "--model", "m1")


def test_a_bad_path_among_good_ones_is_refused_and_the_rest_taken(
    run: Run, own: Path, tmp_path: Path
) -> None:
    fake = tmp_path / "fake.zip"
    fake.write_bytes(b"no zip")
    paths = (fake, tmp_path / "typo", tmp_path / "*.foo", DUMP)
    outcome = run("ingest", *paths, *NAMES, "--store", own, "--format", "json")
    assert outcome.code == 1
    (row,) = json.loads(outcome.text)
    assert (row["files"], row["dumps"], row["refused"]) == (4, 1, 3)
    assert f"refused: {fake}: not a zip" in outcome.err
    assert run("ingest", *paths, *NAMES, "--keep-going", "--store", own).code == 0
    errors = run("query", "ingest_errors", "--store", own, "--format", "csv").text
    assert len(errors.splitlines()) == 4


def test_paths_that_are_all_bad_leave_no_store_behind(run: Run, own: Path) -> None:
    outcome = run("ingest", own / "a", own / "b", "--keep-going", "--store", own)
    assert outcome.code == 1
    assert f"also unusable: {own / 'b'}" in outcome.error
    assert not own.exists()


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as inner:
        inner.write(DUMP, "x/a.etdp")
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as outer:
        outer.write(tmp_path / "in.zip", "in.zip")
        outer.writestr("manifest.json", json.dumps({"device": "d", "build": 7, "model": "m"}))
    return tmp_path / "out.zip"


def test_a_zip_in_a_zip_comes_in_with_the_manifest_above_it(
    run: Run, own: Path, nested: Path
) -> None:
    assert run("ingest", nested, "--store", own).code == 0
    (row,) = json.loads(run("query", "dumps", "--store", own, "--format", "json").text)
    assert (row["source"], row["build"]) == (f"{nested}!in.zip!x/a.etdp", "7")


@pytest.mark.parametrize("command", [("inspect",), ("ingest", *NAMES)])
def test_a_member_of_a_zip_in_a_zip_can_be_named(
    run: Run, own: Path, nested: Path, command: tuple[str, ...]
) -> None:
    store = ("--store", own) if command[0] == "ingest" else ()
    name, *options = command
    for member in ("in.zip!x/a.etdp", "in.zip"):
        assert run(name, f"{nested}!{member}", *options, *store).code == 0
    outcome = run(name, f"{nested}!in.zip!x/b.etdp", *options, *store)
    assert (outcome.code, "did you mean 'in.zip!x/a.etdp'" in outcome.error) == (1, True)
