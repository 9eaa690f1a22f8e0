from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Outcome, Run
from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS

REAL = CORPUS / "real"
BASE = "prefill_decode_portable_debug"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump beside the ETRecord of its program and its debug buffer."""
    shutil.copy(REAL / f"{BASE}.debug.bin", tmp_path / "run.debug.bin")
    shutil.copy(MODELS / "prefill_decode_portable.etrecord", tmp_path / "model.etrecord")
    return Path(shutil.copy(REAL / f"{BASE}.etdp", tmp_path / "run.etdp"))


def events(outcome: Outcome) -> list[dict[str, Any]]:
    blocks = json.loads(outcome.text)["event_blocks"]
    return [event for block in blocks for event in block["events"]]


def test_inspect_uses_the_etrecord_and_the_debug_buffer_beside_the_dump(
    run: Run, dump: Path
) -> None:
    named = ("--etrecord", dump.parent / "model.etrecord")
    named = (*named, "--debug-buffer", dump.with_suffix(".debug.bin"))
    found = run("inspect", dump, "--format", "json")
    assert found == run("inspect", dump, "--format", "json", *named)
    assert any(event["op_types"] for event in events(found))
    assert run("inspect", dump, "--method", "decode").code == 0


def test_numeric_gap_uses_the_etrecords_beside_both_dumps(run: Run, dump: Path) -> None:
    named = ("--etrecord", dump.parent / "model.etrecord")
    both = (*named, "--head-etrecord", dump.parent / "model.etrecord")
    found = run("numeric-gap", dump, dump, "--format", "json")
    assert found == run("numeric-gap", dump, dump, "--format", "json", *both)
    assert run("numeric-gap", dump, dump, "--method", "decode").code == 0


def test_etrecord_found_but_unreadable_is_noted_and_a_named_one_refused(
    run: Run, dump: Path
) -> None:
    record = dump.parent / "model.etrecord"
    record.write_bytes(b"<html>Sign in</html>")
    done = run("inspect", dump)
    assert done.code == 0
    assert f"note: {record}: not an ETRecord (a zip), but an HTML page" in done.err
    assert f"{dump} is read without it" in done.err
    assert run("export", "trace", dump, "-o", dump.parent / "t.json").code == 0
    assert run("inspect", dump, "--etrecord", record).code == 1


def test_companions_beside_a_dump_in_a_zip_are_found(run: Run, dump: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path.parent / "artifact"), "zip", dump.parent)
    found = run("inspect", f"{archive}!run.etdp", "--format", "json")
    assert events(found) == events(run("inspect", dump, "--format", "json"))
