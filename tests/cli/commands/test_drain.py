from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.documents import ROOT
from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse import Inbox, Warehouse
from tracehouse.warehouse.load import children

NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")


def hand_over(store: Path, count: int) -> None:
    Warehouse.open_to_write(store, create=True).close()
    with Inbox.open(store) as inbox:
        for number in range(count):
            inbox.accept(tiny_incoming(number))


def test_handed_over_dumps_are_ingested(run: Run, tmp_path: Path) -> None:
    hand_over(tmp_path, 3)
    outcome = run("drain", "--store", tmp_path, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.text)[0]["dumps"] == 3
    again = run("drain", "--store", tmp_path, "--format", "json")
    assert (again.code, json.loads(again.text)[0]["files"]) == (0, 0)


def test_the_help_and_the_docs_tell_what_decoding_may_take(run: Run) -> None:
    help_ = " ".join(run("drain", "--help").text.replace("│", " ").split())
    memory = f"{children.MOST_BYTES >> 30} GiB", f"{children.BYTES_PER_BYTE} bytes per byte"
    time = (
        f"{children.MOST_SECONDS:.0f} s",
        f"{children.SECONDS_PER_BYTE * (1 << 20):.0f} s per MiB",
    )
    assert (
        f"{memory[0]} of memory plus {memory[1]} of dumps, and at most {' plus '.join(time)}"
        in help_
    )
    limits = (ROOT / "docs/limits.md").read_text()
    assert f"| {' + '.join(memory)} |" in limits
    assert f"| {' + '.join(time)} |" in limits


def test_damage_is_told_and_fails(run: Run, tmp_path: Path) -> None:
    hand_over(tmp_path, 1)
    (log,) = (tmp_path / "inbox").glob("*.log")
    log.write_bytes(b"\xff" + log.read_bytes()[1:])
    outcome = run("drain", "--store", tmp_path)
    assert outcome.code == 1
    assert outcome.error.endswith("submit its dumps again [damaged]")


@pytest.mark.slow
def test_a_torn_end_is_told_and_is_no_failure(run: Run, tmp_path: Path) -> None:
    hand_over(tmp_path, 1)
    (log,) = (tmp_path / "inbox").glob("*.log")
    log.write_bytes(log.read_bytes() + bytes(99))
    outcome = run("drain", "--store", tmp_path)
    assert outcome.code == 0
    assert outcome.error.endswith("they were not acknowledged, unless the file was truncated")


def test_there_is_no_store_to_drain(run: Run, tmp_path: Path) -> None:
    outcome = run("drain", "--store", tmp_path / "gone")
    assert outcome.code == 1
    assert "no store here" in outcome.error


@pytest.mark.slow
def test_an_ingest_takes_what_was_handed_over_too(run: Run, tmp_path: Path) -> None:
    store, file = tmp_path / "store", write(tmp_path / "9.etdp", tiny_dump(9))
    hand_over(store, 2)
    outcome = run("ingest", file, *NAMES, "--store", store, "--format", "json")
    row = json.loads(outcome.text)[0]
    assert (outcome.code, row["files"], row["dumps"]) == (0, 3, 3)
