"""What is handed over to an inbox is in the store at the end, or left to who writes the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import stored_event_counts, tiny_incoming
from tracehouse import Warehouse
from tracehouse.cli.handover import watching
from tracehouse.cli.handover.delivering import hand_over
from tracehouse.cli.handover.watching import open_inbox
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest

BROKEN = Dump.of_bytes("broken.etdp", b"ED00" * 10, Manifest.model_validate(MANIFEST))


def test_dumps_are_in_the_store_at_the_end(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with open_inbox(store) as take:
        (made,) = hand_over([tiny_incoming(i) for i in range(20)], take, threads=4)
    assert all(one.is_new for one in made)
    assert len(stored_event_counts(store)) == 20


@pytest.mark.slow
def test_a_refusal_by_the_store_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_inbox(tmp_path / "store") as take:
        take([BROKEN])
        take([tiny_incoming(1)])
    assert capsys.readouterr().err.startswith("refused: broken.etdp: ")
    assert take.consumer is not None
    assert sum(take.consumer.refused.values()) == 1


@pytest.mark.slow
def test_dumps_are_left_to_another_process_that_writes_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    with Warehouse.open(store, create=True) as warehouse:
        with open_inbox(store) as take:
            take([tiny_incoming(1)])
        assert "has the store open; dumps are left in its inbox" in capsys.readouterr().err
        assert warehouse.drain().n_dumps == 1


def test_a_second_process_leaves_its_dumps_to_the_open_inbox(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    with open_inbox(store) as take:
        with open_inbox(store) as other:
            other([tiny_incoming(1)])
        take([tiny_incoming(2)])
    assert capsys.readouterr().err == ""
    assert len(stored_event_counts(store)) == 2


@pytest.mark.slow
def test_handing_over_waits_while_the_inbox_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    with Warehouse.open(store, create=True) as warehouse, open_inbox(store) as take:
        take([tiny_incoming(1)])
        monkeypatch.setattr(watching, "_MOST_BYTES", 10)
        monkeypatch.setattr(watching.time, "sleep", lambda _: warehouse.drain())
        take([tiny_incoming(2)])
        assert warehouse.drain().n_dumps == 1
    assert len(stored_event_counts(store)) == 2
