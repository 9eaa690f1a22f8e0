from __future__ import annotations

import threading
from http import HTTPStatus

import anyio
import pytest

from cli.serve.answers.limits import ConcurrencyLimit
from cli.serve.http.problems import Problem


def test_some_work_some_wait_and_the_others_are_put_off() -> None:
    answers: list[object] = []
    is_over = threading.Event()

    async def take(turns: ConcurrencyLimit) -> None:
        try:
            answers.append(await turns.take(is_over.wait))
        except Problem as problem:
            answers.append((problem.status_code, (problem.headers or {})["Retry-After"]))

    async def crowd() -> None:
        turns = ConcurrencyLimit(2, 3)
        async with anyio.create_task_group() as tasks:
            for _ in range(7):
                tasks.start_soon(take, turns)
            await anyio.wait_all_tasks_blocked()
            is_over.set()

    anyio.run(crowd)
    busy = (HTTPStatus.TOO_MANY_REQUESTS, "1")
    assert answers == [busy, busy, True, True, True, True, True]


def test_what_work_raises_comes_out_and_leaves_the_turn_to_others() -> None:
    async def one_after_the_other() -> int:
        turns = ConcurrencyLimit(1, 1)
        with pytest.raises(ZeroDivisionError):
            await turns.take(lambda: 1 // 0)
        return await turns.take(lambda: 5)

    assert anyio.run(one_after_the_other) == 5
