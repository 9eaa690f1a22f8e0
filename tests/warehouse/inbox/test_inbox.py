from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from ingest.errors import ManifestError
from ingest.found_dumps import FoundDumps
from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from warehouse import Inbox, Warehouse
from warehouse.engine.store_file import FILE_NAME
from warehouse.errors import StoreError


@pytest.fixture
def inbox(store: Path) -> Iterator[Inbox]:
    with Inbox.open(store) as inbox:
        yield inbox


def test_what_was_accepted_is_on_disk(
    inbox: Inbox, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda file: synced.append(os.fstat(file).st_size))
    assert inbox.accept(tiny_incoming(7)) == hashlib.sha256(tiny_dump(7)).hexdigest()
    (log,) = (store / "inbox").glob("*.log")
    assert synced == [log.stat().st_size]


def test_the_folders_on_the_way_to_it_are_on_disk_too(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
    assert synced == [store.stat().st_ino, (store / "inbox").stat().st_ino]


@pytest.mark.system
def test_it_needs_no_lock_of_the_store(store: Path) -> None:
    with Warehouse.open(store) as warehouse, Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
        assert warehouse.drain().n_dumps == 1


@pytest.mark.smoke
@pytest.mark.system
def test_a_damaged_store_is_still_handed_to(store: Path) -> None:
    with Warehouse.open(store) as warehouse, Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
        warehouse.drain()
    (store / FILE_NAME).unlink()
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(2))
    assert len(list((store / "inbox").glob("*.log"))) == 1


def test_a_folder_that_is_no_store_gets_no_inbox(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here"):
        Inbox.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_many_threads_share_a_sync(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs, is_first_there, may_go_on = [], Event(), Event()

    def wait(_: int) -> None:
        syncs.append(None)
        is_first_there.set()
        assert may_go_on.wait(60)

    monkeypatch.setattr(os, "fdatasync", wait)
    with ThreadPoolExecutor(17) as pool:
        pool.submit(inbox.accept, tiny_incoming(0))
        assert is_first_there.wait(60)
        others = [pool.submit(inbox.accept, tiny_incoming(i)) for i in range(1, 17)]
        while len(inbox._group._waiting) < 16:
            assert not any(other.done() for other in others)
        may_go_on.set()
        assert len({other.result() for other in others}) == 16
    assert len(syncs) == 2


@pytest.mark.system
def test_all_of_a_group_learn_that_it_was_not_taken(
    inbox: Inbox, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched, ThreadPoolExecutor(8) as pool:
        patched.setattr(os, "fdatasync", lambda _: _fail())
        for done in [pool.submit(inbox.accept, tiny_incoming(i)) for i in range(20)]:
            with pytest.raises(StoreError, match="free some space"):
                done.result()
    inbox.accept(tiny_incoming(99))
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1


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


@pytest.mark.system
def test_the_file_that_was_handed_over_is_not_looked_at_again(
    inbox: Inbox, store: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.etdp", tiny_dump(1))
    (found,) = FoundDumps([path], manifest={"device": "d", "build": "b", "model": "m"})
    inbox.accept(found)
    path.write_bytes(b"another")
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1


def _fail() -> None:
    raise OSError(28, "No space left on device")


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_who_wrote_together_with_an_interrupted_one_is_told_which_inbox_wants_it_again(
    inbox: Inbox, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_writing, may_go_on = Event(), Event()

    def interrupt(deliveries: object) -> None:
        is_writing.set()
        assert may_go_on.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(inbox._writer, "append", interrupt)
    with ThreadPoolExecutor(2) as pool:
        handed = [pool.submit(inbox.accept, tiny_incoming(1))]
        assert is_writing.wait(60)
        handed.append(pool.submit(inbox.accept, tiny_incoming(2)))
        while not inbox._group._waiting:
            assert not handed[1].done()
        may_go_on.set()
        errors = [each.exception() for each in handed]
    (told,) = [error for error in errors if isinstance(error, StoreError)]
    assert str(told) == f"{store / 'inbox'}: interrupted; submit it again"
    assert any(isinstance(error, KeyboardInterrupt) for error in errors)
