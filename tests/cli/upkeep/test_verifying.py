from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.stores import ingest, write, writing
from tests.support.tiny_dumps import tiny_dump
from tracehouse.cli.upkeep import verifying
from tracehouse.warehouse.children.messages import receive
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.errors import ArchiveError
from tracehouse.warehouse.upkeep.verification import ALL
from tracehouse.warehouse.upkeep.verification_record import read_record


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(0)))
    return tmp_path / "store"


def answer(store: Path) -> dict[str, Any]:
    """What a process that verifies says."""
    scratch = store.with_name("scratch")
    scratch.mkdir(exist_ok=True)
    given = str(store), str(scratch)
    child = ChildProcess("tracehouse.cli.upkeep.verifying", *given, environment={}, stderr=None)
    try:
        child.channel.settimeout(120)
        message = dict(receive(child.channel).message)
        return {name: value for name, value in message.items() if name != "tables"}
    finally:
        child.end()


def test_a_process_says_how_many_dumps_agree_and_counts_its_turns(store: Path) -> None:
    assert answer(store) == {"dumps": 1, "damages": []}
    assert answer(store) == {"dumps": 1, "damages": []}  # of one dump, every turn has it
    record = read_record(store)
    assert (record.turn, record.dumps) == (2, {})
    assert record.succeeded_at


def test_a_process_says_which_rows_differ(store: Path) -> None:
    with writing(store) as connection:
        connection.execute("UPDATE runs SET run_index = run_index + 1")
    (damage,) = answer(store)["damages"]
    assert damage.endswith("a.etdp: runs: rows differ from those that a rebuild gives")
    assert [*read_record(store).dumps.values()] == ["runs"]


def test_a_process_says_why_it_cannot_verify(tmp_path: Path) -> None:
    assert "no store here" in answer(tmp_path / "none")["problem"]


def test_an_archive_that_changes_meanwhile_is_read_again(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify, tries = verifying.verify_and_record, []

    def fail_at_first(*args: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise ArchiveError(str(store), "a segment is gone")
        return verify(*args, **options)

    monkeypatch.setattr(verifying, "verify_and_record", fail_at_first)
    assert len(verifying.read_and_verify(store, ALL).dumps) == 1
    monkeypatch.setattr(
        verifying, "verify_and_record", lambda *_, **__: fail_at_first(tries.clear())
    )
    with pytest.raises(ArchiveError, match="a segment is gone"):
        verifying.read_and_verify(store, ALL)


def test_a_verification_is_recorded_even_if_its_owner_is_gone(store: Path, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with pytest.MonkeyPatch.context() as patched:
        for name in ("tie_to_owner", "disable_core_dumps", "lower_priority"):
            patched.setattr(verifying, name, lambda: None)
        verifying.serve(theirs.detach(), str(store), str(tmp_path))
    assert read_record(store).succeeded_at
