from __future__ import annotations

import socket
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.support.stores import ingest, write, writing
from tests.support.tiny_dumps import tiny_dump
from tracehouse.cli.upkeep import drilling
from tracehouse.warehouse.children.messages import receive
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.errors import ArchiveError
from tracehouse.warehouse.upkeep.drill_record import read_record

NIGHT = date(2026, 11, 29)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(0)))
    return tmp_path / "store"


def answer(store: Path) -> dict[str, Any]:
    """What a process that drills says."""
    scratch = store.with_name("scratch")
    scratch.mkdir()
    given = str(store), "2026-11-29", str(scratch)
    child = ChildProcess("tracehouse.cli.upkeep.drilling", *given, environment={}, stderr=None)
    try:
        child.channel.settimeout(120)
        return dict(receive(child.channel).message)
    finally:
        child.end()


def test_a_process_says_how_many_dumps_agree(store: Path) -> None:
    assert answer(store) == {"dumps": 1, "damages": [], "remedy": "", "tables": []}
    record = read_record(store)
    assert record
    assert (record.night, record.dump_count, record.difference_count) == ("2026-11-29", 1, 0)


def test_a_process_says_which_rows_differ(store: Path) -> None:
    with writing(store) as connection:
        connection.execute("UPDATE runs SET run_index = run_index + 1")
    said = answer(store)
    (damage,) = said["damages"]
    assert damage.endswith("a.etdp: runs: rows differ from those that a rebuild gives")
    assert said["remedy"].startswith("tracehouse store rebuild --dumps ")


def test_a_process_says_why_it_cannot_drill(tmp_path: Path) -> None:
    assert "no store here" in answer(tmp_path / "none")["problem"]


def test_an_archive_that_changes_meanwhile_is_read_again(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drill, tries = drilling.drill, []

    def fail_at_first(*args: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise ArchiveError(str(store), "a segment is gone")
        return drill(*args, **options)

    monkeypatch.setattr(drilling, "drill", fail_at_first)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert drilling.run_drill(store, NIGHT, tmp_path / "one").n_decoded == 1
    monkeypatch.setattr(drilling, "drill", lambda *_, **__: fail_at_first(tries.clear()))
    with pytest.raises(ArchiveError, match="a segment is gone"):
        drilling.run_drill(store, NIGHT, tmp_path / "two")


def test_an_owner_that_is_gone_costs_nothing_but_the_answer(store: Path, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with pytest.MonkeyPatch.context() as patched:
        for name in ("tie_to_owner", "disable_core_dumps", "lower_priority"):
            patched.setattr(drilling, name, lambda: None)
        drilling.serve(theirs.detach(), str(store), "2026-11-29", str(tmp_path))
    assert read_record(store)
