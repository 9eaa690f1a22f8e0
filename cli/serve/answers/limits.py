"""A limit on concurrent answers: some are worked on, some wait, and all others are put off."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from cli.serve.http.problems import Problem

_Result = TypeVar("_Result")


class ConcurrencyLimit:
    """Lets so many threads work on answers at a time, and so many more wait for it."""

    def __init__(self, working: int, waiting: int) -> None:
        """Nobody works yet."""
        self._limiter: CapacityLimiter | None = None
        self._working, self._most = working, working + waiting
        self._there = 0

    async def take(self, work: Callable[[], _Result]) -> _Result:
        """What `work` returns, out of a thread.

        Raises:
            Problem: 429 if too many wait already.
        """
        if self._there >= self._most:
            detail = f"{self._there} others are there already; ask again in a second"
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "busy", detail, retry_after=1)
        if self._limiter is None:  # which belongs to the loop that runs
            self._limiter = CapacityLimiter(self._working)
        self._there += 1
        try:
            return await run_sync(work, limiter=self._limiter)
        finally:
            self._there -= 1
