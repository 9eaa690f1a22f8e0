from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse import Inbox
from tracehouse.ingest.dump import FoundDumps
from tracehouse.ingest.errors import ManifestError
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import StoreError


@pytest.fixture
def inbox(store: Path) -> Iterator[Inbox]:
    with Inbox.open(store) as inbox:
        yield inbox


def test_an_accepted_dump_is_on_disk_and_so_are_its_folders(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, logs = list[int](), list[int]()
    monkeypatch.setattr(os, "fsync", lambda file: folders.append(os.fstat(file).st_ino))
    monkeypatch.setattr(os, "fdatasync", lambda file: logs.append(os.fstat(file).st_size))
    with Inbox.open(store) as inbox:
        assert inbox.accept(tiny_incoming(7)) == hashlib.sha256(tiny_dump(7)).hexdigest()
    (log,) = (store / "inbox").glob("*.log")
    assert logs == [log.stat().st_size]
    assert folders == [store.stat().st_ino, (store / "inbox").stat().st_ino]


def test_a_damaged_store_still_takes_dumps_into_its_inbox(inbox: Inbox, store: Path) -> None:
    (store / "archive").mkdir()
    (store / FILE_NAME).unlink()
    inbox.close()
    with Inbox.open(store) as other:
        other.accept(tiny_incoming(2))
    assert len(list((store / "inbox").glob("*.log"))) == 1


def test_a_folder_that_is_no_store_gets_no_inbox(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here"):
        Inbox.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_one_thread_is_known_to_the_others_and_harms_no_later_one(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", lambda _: _interrupt())
        with pytest.raises(KeyboardInterrupt):
            inbox.accept(tiny_incoming(1))
    assert inbox.accept(tiny_incoming(2))


def test_a_dump_without_a_manifest_is_not_taken(inbox: Inbox, store: Path, tmp_path: Path) -> None:
    (found,) = FoundDumps([write(tmp_path / "a.etdp", tiny_dump(1))])
    with pytest.raises(ManifestError, match=r"a\.etdp"):
        inbox.accept(found)
    assert list((store / "inbox").iterdir()) == []


def _interrupt() -> None:
    raise KeyboardInterrupt
