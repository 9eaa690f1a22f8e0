"""Threads for work that would block the event loop, stopped when its client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.warehouse.errors import QueryError, WarehouseError

_Result = TypeVar("_Result")


class ConcurrencyLimit:
    """Runs functions in a limited number of threads while others wait; refuses more.

    Attributes:
        count: Functions that run or wait.
    """

    def __init__(self, working: int, waiting: int) -> None:
        self._limiter: CapacityLimiter | None = None
        self._working, self._most = working, working + waiting
        self.count = 0

    @property
    def threads(self) -> CapacityLimiter:
        """The limit of threads."""
        self._limiter = self._limiter or CapacityLimiter(self._working)  # needs the event loop
        return self._limiter

    @contextmanager
    def count_caller(self) -> Iterator[None]:
        """Count the body among those that work or wait.

        Raises:
            Problem: 429 if too many wait already.
        """
        if self.count >= self._most:
            detail = f"{self.count} requests are being answered or wait: try again in a second"
            raise Problem(429, "busy", detail, retry_after=1)
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1

    async def run(self, function: Callable[[], _Result]) -> _Result:
        """Run a function in a thread; a Problem is passed on if too many wait already."""
        with self.count_caller():
            return await run_sync(function, limiter=self.threads)


async def wait_for_end(future: Future[Any], seconds: float | None = None) -> None:
    """Wait until a future of another thread has ended, or some seconds."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
            loop.call_soon_threadsafe(ended.set)

    future.add_done_callback(tell)
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), seconds)


async def run_to_end(threads: Executor, function: Callable[[], _Result]) -> _Result:
    """Run a function in one of the threads.

    A caller that is cancelled waits until the function ends, because the function uses files that
    the caller closes.

    Raises:
        CancelledError: The caller was cancelled.
    """
    running = asyncio.get_running_loop().run_in_executor(threads, function)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


@asynccontextmanager
async def stopping_without_client(
    request: Request, stop: Callable[[], None]
) -> AsyncIterator[None]:
    """Call `stop` if the client goes away meanwhile; read the body of the request before.

    Raises:
        ClientDisconnect: The work failed after the client went away.
        QueryError: It failed while the client waited.
        WarehouseError: It failed likewise.
    """
    watcher = asyncio.create_task(_watch(request, stop))
    try:
        yield
    except (QueryError, WarehouseError) as error:  # which a stop causes
        if watcher.done():
            raise ClientDisconnect from error
        raise
    finally:
        watcher.cancel()


async def _watch(request: Request, stop: Callable[[], None]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop()
