from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.store_template import copy_new_store
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Inbox, Warehouse
from tracehouse.cli.serve.access.authorization import ANYONE
from tracehouse.cli.serve.uploads.commits import Commits
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.inbox.accept import Acceptor, Outcome
from tracehouse.warehouse.inbox.records import pack_delivery


class Uploads:
    """Uploads small dumps by number."""

    def __init__(self, acceptor: Acceptor, commits: Commits, warehouse: Warehouse) -> None:
        self.acceptor, self.commits, self.warehouse = acceptor, commits, warehouse

    async def commit(self, number: int) -> Outcome:
        return await self.commits.commit(ANYONE, pack_delivery(tiny_incoming(number)), None)


@pytest.fixture
def uploads(tmp_path: Path) -> Iterator[Uploads]:
    """Commits to a store whose consumer does not run."""
    store = tmp_path / "store"
    copy_new_store(store)
    with (
        Warehouse.open(store) as warehouse,
        Inbox.open(store) as inbox,
        ThreadPoolExecutor(1) as thread,
    ):
        consumer = Consumer(warehouse, store, batch_dumps=1, batch_seconds=1, snapshot_seconds=1)
        acceptor = Acceptor(inbox, consumer.known, consumer.count_accepted)
        yield Uploads(acceptor, Commits(acceptor, thread, thread, lambda: 9), warehouse)


@pytest.mark.smoke
def test_dumps_that_come_while_the_disk_is_busy_are_written_together(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, is_syncing, may_go_on = [], threading.Event(), threading.Event()

    def sync(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        is_syncing.set()
        may_go_on.wait(20)

    monkeypatch.setattr(os, "fdatasync", sync)

    async def commit_all() -> list[Outcome]:
        first = asyncio.create_task(uploads.commit(0))
        await asyncio.to_thread(is_syncing.wait, 20)
        others = [asyncio.create_task(uploads.commit(n)) for n in range(1, 9)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in (first, *others))
        may_go_on.set()
        return list(await asyncio.gather(first, *others))

    outcomes = asyncio.run(commit_all())

    assert outcomes == [Outcome("accepted", is_new=True)] * 9
    assert (len(synced), uploads.acceptor.groups) == (2, 2)
    assert uploads.warehouse.drain().n_dumps == 9


@pytest.mark.parametrize(("enough", "coming", "groups"), [(8, 2, 1), (1, 2, 2), (8, 1, 2)])
def test_a_commit_waits_briefly_for_dumps_still_arriving(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch, enough: int, coming: int, groups: int
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.uploads.commits._LINGER_SECONDS", 0.5)
    monkeypatch.setattr("tracehouse.cli.serve.uploads.commits._ENOUGH", enough)
    monkeypatch.setattr(uploads.commits, "_count", lambda: coming)

    async def commit_both() -> None:
        first = asyncio.create_task(uploads.commit(0))
        await asyncio.sleep(0.01)
        await asyncio.gather(first, uploads.commit(1))

    asyncio.run(commit_both())
    assert uploads.acceptor.groups == groups


def test_the_same_dump_twice_in_a_group_is_written_once(uploads: Uploads) -> None:
    async def commit_both() -> list[Outcome]:
        return list(await asyncio.gather(*(uploads.commit(1) for _ in range(2))))

    assert asyncio.run(commit_both()) == [Outcome("accepted", is_new=True), Outcome("accepted")]


def test_an_upload_that_is_given_up_does_not_harm_the_others(uploads: Uploads) -> None:
    async def commit_and_cancel() -> Outcome:
        given_up = asyncio.create_task(uploads.commit(1))
        kept = asyncio.create_task(uploads.commit(2))
        await asyncio.sleep(0)
        given_up.cancel()
        return await kept

    assert asyncio.run(commit_and_cancel()).is_new
