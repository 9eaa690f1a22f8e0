from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.inbox import GroupCommit


def test_items_that_joined_meanwhile_are_written_together() -> None:
    written: list[list[int]] = []
    later: Future[int] = Future()

    def write(items: Sequence[int]) -> list[int]:
        if not written:
            assert not group.join(1, later)  # whose caller need not run
        written.append(list(items))
        return [-item for item in items]

    group = GroupCommit("here", write)
    first: Future[int] = Future()
    assert group.join(7, first)
    group.run()
    assert (first.result(), later.result(), written) == (-7, -1, [[7], [1]])
    assert group.join(2, Future())  # for nobody runs any more


def test_a_failed_write_is_every_waiters_error_and_the_next_goes_on() -> None:
    def write(items: Sequence[int]) -> Sequence[int]:
        if 1 in items:
            raise StoreError("here", "is full")
        return items

    group = GroupCommit("here", write)
    waiters: list[Future[int]] = [Future() for _ in range(3)]
    group.join(1, waiters[0])
    group.join(2, waiters[1])
    group.run()
    assert group.join(3, waiters[2])
    group.run()
    for waiter in waiters[:2]:
        with pytest.raises(StoreError, match="is full"):
            waiter.result()
    assert waiters[2].result() == 3


def test_a_caller_writes_a_few_groups_and_a_thread_writes_the_rest() -> None:
    writers: list[threading.Thread] = []
    waiters: list[Future[int]] = [Future()]

    def write(items: Sequence[int]) -> Sequence[int]:
        writers.append(threading.current_thread())
        if len(waiters) < 20:  # another item comes during each write
            waiters.append(Future())
            assert not group.join(len(waiters), waiters[-1])
        return items

    group = GroupCommit("here", write)
    assert group.join(1, waiters[0])
    group.run()
    while len(waiters) < 20:
        waiters[-1].result(timeout=60)
    assert [waiter.result(timeout=60) for waiter in waiters] == list(range(1, 21))
    own = [writer is threading.current_thread() for writer in writers]
    assert own == [True] * 8 + [False] * 12
    assert len(set(writers)) == 2


def test_waiters_of_an_interrupted_write_are_told_to_resubmit_their_items() -> None:
    later: Future[int] = Future()

    def write(items: Sequence[int]) -> Sequence[int]:
        if items == [1]:
            group.join(2, later)
            raise KeyboardInterrupt
        return items

    group = GroupCommit("here", write)
    waiters: list[Future[int]] = [Future() for _ in range(2)]
    group.join(1, waiters[0])
    with pytest.raises(KeyboardInterrupt):
        group.run()
    for waiter in (waiters[0], later):
        with pytest.raises(StoreError, match="here: interrupted; submit it again"):
            waiter.result(0)
    assert group.join(3, waiters[1])
    group.run()
    assert waiters[1].result(0) == 3
