"""Queries of the live store, limited in number and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request

from cli.serve.access.pools import check_data
from cli.serve.http.disconnects import stopping_without_client
from cli.serve.http.problems import Problem
from cli.serve.service import Service
from warehouse.errors import LongQuestionError, SlowAnswerError
from warehouse.store import Warehouse

_Answer = TypeVar("_Answer")


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
    def counting(self) -> Iterator[None]:
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

    async def run(self, function: Callable[[], _Answer]) -> _Answer:
        """Run a function in a thread; a Problem is passed on if too many wait already."""
        with self.counting():
            return await run_sync(function, limiter=self.threads)


async def query_store(request: Request, answer: Callable[[Warehouse], _Answer]) -> _Answer:
    """Call a function with the live store, in a thread, and stop it if the client goes away.

    Of a client that is limited to device pools, the function sees nothing but these pools.

    Raises:
        Problem: 429 if too many requests wait; 504 if the answer takes too long, 422 if the first
            portions show that it would; 404 if the client's pools have no devices.
    """
    service: Service = request.app.state.service
    limit: ConcurrencyLimit = request.app.state.store_limit
    pools, stop = request.state.bearer.pools, Event()

    def run_query() -> _Answer:
        with (
            service.consumer.memory.raised(service.settings.query_bytes),
            service.reader(pools) as reader,
            reader.within(service.settings.query_seconds, stop),
        ):
            if pools is not None:
                check_data(reader, pools)
            return answer(reader)

    try:
        async with stopping_without_client(request, stop.set):
            return await limit.run(run_query)
    except SlowAnswerError as error:
        raise Problem(504, "deadline", str(error)) from error
    except LongQuestionError as error:
        raise Problem(422, "long_question", str(error)) from error
