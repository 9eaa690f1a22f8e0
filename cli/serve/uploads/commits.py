"""Commits of uploads, of which small ones share a write, and the record of those refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from tracehouse.cli.serve.access.authorization import Bearer, pool_of
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.accept import CONFLICT, Acceptor, Outcome
from tracehouse.warehouse.inbox.inbox import GroupCommit
from tracehouse.warehouse.inbox.records import Delivery
from tracehouse.warehouse.inbox.spools import Spool

if TYPE_CHECKING:
    from starlette.requests import Request

    from tracehouse.cli.serve.service import Service

UNNAMED = "upload"  # source of an upload without a name
_NAME_LETTERS = 16  # a dump without a name is called by so much of its SHA-256

# The other statuses are about access, or defer an upload.
_REFUSED = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
_POOL = "pool"  # the token is for other pools of devices
_CUT = {"cut", "disconnected"}  # the client did not read the answer, and sends the dump again
_LINGER_SECONDS = 0.003  # others may join meanwhile: each write costs as much as an upload
OTHER_POOL = (
    "these bytes are known under another manifest, of a device pool that the token may not see: "
    "correct the manifest, or use a token for that pool"
)
_ENOUGH = 8  # so many uploads, or all that are under way, are written without waiting for others


class UploadProblem(Problem):
    """A dump is refused for its content or its manifest.

    Attributes:
        refusal: The refusal to put on record.
    """

    def __init__(self, status: int, refusal: Refusal, detail: str) -> None:
        super().__init__(status, refusal.reason, detail)
        self.refusal = refusal


class Commits:
    """Commits uploads to the inbox from the event loop."""

    def __init__(
        self, acceptor: Acceptor, threads: Executor, spooling: Executor, count: Callable[[], int]
    ) -> None:
        """Begin without uploads.

        Args:
            acceptor: Accepts deliveries.
            threads: A thread for small uploads only, so that a large one delays none of them.
            spooling: Threads for large uploads.
            count: Returns the number of uploads under way, including those that wait to be written.
        """
        self._acceptor, self._count = acceptor, count
        self._threads, self._spooling = threads, spooling
        self._group = GroupCommit(
            "the inbox", acceptor.accept, deliver=self._deliver, linger=self._linger
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    async def commit(self, bearer: Bearer, delivery: Delivery, spool: Spool | None) -> Outcome:
        """Commit an upload, which is on disk afterwards.

        `spool` is the dump's spool, if its file may become a separate log. A StoreError is passed
        on.

        Raises:
            Problem: The upload is refused.
        """
        outcome: Outcome | None = None
        if spool and spool.is_large:
            accept = partial(self._acceptor.accept_spooled, delivery, spool)
            outcome = await run_to_end(self._spooling, accept)
        outcome = outcome or await self._join([delivery])[0]
        if outcome.refusal:
            problem = _refuse(outcome.refusal, outcome.known_manifest, bearer)
            raise problem
        return outcome

    async def commit_all(
        self, bearer: Bearer, uploads: Sequence[tuple[Delivery, Spool]]
    ) -> list[Outcome | Problem | StoreError]:
        """The results of several uploads, in order; those with an outcome are on disk.

        Any other error of an upload is passed on.
        """
        joined = iter(self._join([one for one, spool in uploads if not spool.is_large]))
        results = await asyncio.gather(
            *(
                self.commit(bearer, one, spool) if spool.is_large else next(joined)
                for one, spool in uploads
            ),
            return_exceptions=True,
        )
        return [_result(one, bearer) for one in results]

    def _join(self, deliveries: Sequence[Delivery]) -> list[asyncio.Future[Outcome]]:
        loop = self._loop = asyncio.get_running_loop()
        waiters: list[asyncio.Future[Outcome]] = [loop.create_future() for _ in deliveries]
        if any([*map(self._group.join, deliveries, waiters)]):  # all join before the first write
            loop.run_in_executor(self._threads, self._group.run)
        return waiters

    def _deliver(self, answer: Callable[[], None]) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(answer)

    def _linger(self, waiting: int) -> float:
        return _LINGER_SECONDS if 0 < waiting < min(_ENOUGH, self._count()) else 0.0


def _result(result: Outcome | BaseException, bearer: Bearer) -> Outcome | Problem | StoreError:
    if isinstance(result, Outcome):
        refusal, known = result.refusal, result.known_manifest
        return _refuse(refusal, known, bearer) if refusal else result
    if isinstance(result, Problem | StoreError):
        return result
    raise result


def _refuse(refusal: Refusal, known_manifest: str, bearer: Bearer) -> UploadProblem:
    place = "" if refusal.byte_offset is None else f"offset {refusal.byte_offset:,}: "
    status, detail = 400, f"{place}{refusal.detail}"
    if refusal.reason == CONFLICT:
        status = 409
        if bearer.pools is not None and pool_of(known_manifest) not in bearer.pools:
            detail = OTHER_POOL
    return UploadProblem(status, refusal, detail)


def name_of(sha256: str) -> str:
    """The name of a dump that was uploaded without one."""
    return f"{sha256[:_NAME_LETTERS]}.etdp"


def record_request(request: Request, problem: Problem) -> None:
    """Put the refusal of a request on record; the dumps of a batch are on record one by one.

    The request's state has the `source`, `sha256` and `manifest` of the dump as far as they are
    known: a SHA-256 is that of bytes that were read.
    """
    if "dumps" not in problem.more:
        state, service = request.state, request.app.state.service
        source, sha256 = getattr(state, "source", UNNAMED), getattr(state, "sha256", None)
        manifest = getattr(state, "manifest", None)
        record_refusal(service, problem, source, sha256, manifest)


def record_refusal(
    service: Service, problem: Problem, source: str, sha256: str | None, manifest: str | None = None
) -> None:
    """Put the refusal of an upload on record, unless the upload is only deferred."""
    if isinstance(problem, UploadProblem):
        service.consumer.refusals.refuse(problem.refusal)
    elif problem.reason == _POOL or (
        problem.status_code in _REFUSED and problem.reason not in _CUT
    ):
        refusal = Refusal(source, sha256, problem.reason, None, problem.detail, manifest=manifest)
        service.consumer.refusals.refuse(refusal)
