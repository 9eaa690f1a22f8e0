"""Uploads accepted from the event loop: many small ones share a write, a large one has its own."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from concurrent.futures import Executor
from http import HTTPStatus

from cli.serve.access.authorization import Bearer
from cli.serve.access.pools import pool_of
from cli.serve.http.problems import Problem
from cli.serve.http.threads import run_there
from ingest.dump import Refusal
from warehouse.errors import StoreError
from warehouse.inbox.accept import CONFLICT, Acceptor, Outcome
from warehouse.inbox.group_commit import GroupCommit
from warehouse.inbox.records import Delivery
from warehouse.inbox.spools import Spool

_LINGER_SECONDS = 0.003  # in which others may join: each write costs as much as an upload
_ENOUGH = 8  # uploads that wait for no others; so do all there are
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


class Commits:
    """Brings uploads into the inbox."""

    def __init__(
        self, acceptor: Acceptor, threads: Executor, spooling: Executor, count: Callable[[], int]
    ) -> None:
        """Take what accepts.

        Args:
            acceptor: Accepts deliveries.
            threads: A thread for small uploads alone, so that a large one delays none of them.
            spooling: Threads for large uploads.
            count: Gives the number of uploads under way, those that wait to be written included.
        """
        self._acceptor, self._count = acceptor, count
        self._threads, self._spooling = threads, spooling
        self._group = GroupCommit(
            "the inbox", acceptor.accept, deliver=self._deliver, linger=self._linger
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    async def commit(self, bearer: Bearer, delivery: Delivery, spool: Spool | None) -> Outcome:
        """What became of an upload, which is on disk if it is accepted.

        Args:
            bearer: Who sent it.
            delivery: The upload.
            spool: Where its dump lies, if that may become a log of its own.

        Raises:
            Problem: It is refused.
            StoreError: It cannot be written.
        """
        outcome: Outcome | None = None
        if spool and spool.is_large:
            accept = self._acceptor.accept_spooled
            outcome = await run_there(self._spooling, accept, delivery, spool)
        outcome = outcome or await self._join(delivery)
        if outcome.refusal:
            problem = _problem(outcome.refusal, outcome.known_manifest, bearer)
            raise problem
        return outcome

    async def _join(self, delivery: Delivery) -> Outcome:
        self._loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Outcome] = self._loop.create_future()
        if self._group.join(delivery, waiter):
            self._loop.run_in_executor(self._threads, self._group.run)
        return await waiter

    def _deliver(self, answer: Callable[[], None]) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(answer)

    def _linger(self, waiting: int) -> float:
        return _LINGER_SECONDS if 0 < waiting < min(_ENOUGH, self._count()) else 0.0


def _problem(refusal: Refusal, known_manifest: str, bearer: Bearer) -> Problem:
    place = "" if refusal.byte_offset is None else f"offset {refusal.byte_offset:,}: "
    detail = f"{place}{refusal.detail}"
    if refusal.reason != CONFLICT:
        return Problem(HTTPStatus.BAD_REQUEST, refusal.reason, detail)
    if bearer.pools is not None and pool_of(known_manifest) not in bearer.pools:
        detail = (
            "these bytes are known under another manifest, of a device pool that the token may "
            "not see: correct the manifest that is sent, or ask somebody who may see that pool"
        )
    return Problem(HTTPStatus.CONFLICT, CONFLICT, detail)


def as_full(error: StoreError) -> Problem:
    """A failed write as an answer: the disk is full, or something else that may pass."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, OSError):
        cause = cause.__cause__
    if isinstance(cause, OSError) and cause.errno in _NO_ROOM:
        status = HTTPStatus.INSUFFICIENT_STORAGE
        return Problem(status, "disk_full", "the store's disk is full", retry_after=30)
    detail = f"the store's inbox {error.problem}"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "store", detail, retry_after=5)
