from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cli.serve.commits import Commits, Outcome, Upload
from tests.support.store_template import copy_new_store
from tests.support.tiny_dumps import tiny_incoming
from warehouse import Inbox, Warehouse
from warehouse.consumer import Consumer
from warehouse.storage.log_records import pack_delivery


def upload_of(number: int) -> Upload:
    incoming = tiny_incoming(number)
    return Upload(incoming.name, pack_delivery(incoming), incoming.manifest().canonical_json())


@pytest.fixture
def commits(tmp_path: Path) -> Iterator[Commits]:
    """What commits to a store whose consumer does not run."""
    store = tmp_path / "store"
    copy_new_store(store)
    with (
        Warehouse.open(store) as warehouse,
        Inbox.open(store) as inbox,
        ThreadPoolExecutor(1) as thread,
    ):
        consumer = Consumer(warehouse, store, batch_dumps=1, batch_seconds=1, snapshot_seconds=1)
        yield Commits(inbox, consumer, thread, lambda: 9)
        warehouse.drain()


@pytest.mark.smoke
def test_what_comes_while_the_disk_is_busy_goes_to_it_together(
    commits: Commits, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, is_syncing, may_go_on = [], threading.Event(), threading.Event()

    def sync(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        is_syncing.set()
        may_go_on.wait(20)

    monkeypatch.setattr(os, "fdatasync", sync)

    async def commit_all() -> list[Outcome]:
        first = asyncio.create_task(commits.commit(upload_of(0)))
        await asyncio.to_thread(is_syncing.wait, 20)
        others = [asyncio.create_task(commits.commit(upload_of(n))) for n in range(1, 9)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in (first, *others))
        may_go_on.set()
        return list(await asyncio.gather(first, *others))

    outcomes = asyncio.run(commit_all())

    assert outcomes == [Outcome("accepted", is_new=True)] * 9
    assert (len(synced), commits.groups) == (2, 2)


@pytest.mark.parametrize(("enough", "coming", "groups"), [(8, 2, 1), (1, 2, 2), (8, 1, 2)])
def test_what_comes_a_moment_later_goes_to_the_disk_with_it_unless_many_or_all_wait(
    commits: Commits, monkeypatch: pytest.MonkeyPatch, enough: int, coming: int, groups: int
) -> None:
    monkeypatch.setattr("cli.serve.commits._GATHER_SECONDS", 0.5)
    monkeypatch.setattr("cli.serve.commits._ENOUGH", enough)
    monkeypatch.setattr(commits, "_count_coming", lambda: coming)

    async def commit_both() -> None:
        first = asyncio.create_task(commits.commit(upload_of(0)))
        await asyncio.sleep(0.01)
        await asyncio.gather(first, commits.commit(upload_of(1)))

    asyncio.run(commit_both())
    assert commits.groups == groups


def test_the_same_dump_twice_in_a_group_is_written_once(commits: Commits) -> None:
    async def commit_both() -> list[Outcome]:
        return list(await asyncio.gather(*(commits.commit(upload_of(1)) for _ in range(2))))

    assert asyncio.run(commit_both()) == [Outcome("accepted", is_new=True), Outcome("accepted")]


def test_one_who_gives_up_does_not_harm_the_others(commits: Commits) -> None:
    async def commit_and_cancel() -> Outcome:
        given_up = asyncio.create_task(commits.commit(upload_of(1)))
        kept = asyncio.create_task(commits.commit(upload_of(2)))
        await asyncio.sleep(0)
        given_up.cancel()
        return await kept

    assert asyncio.run(commit_and_cancel()).is_new
