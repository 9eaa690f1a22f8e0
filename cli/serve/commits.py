"""Group commit: what is uploaded while the disk is busy goes to it together, and is told then.

Each upload is looked at before: whether it begins as a dump does, and whether it is known.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from http import HTTPStatus
from itertools import islice
from typing import NamedTuple

from cli.serve.pools import pool_of
from cli.serve.problems import Problem
from cli.serve.threads import run_there
from ingest.file_magic import check_file_magic
from warehouse.consumer import Consumer
from warehouse.errors import StoreError
from warehouse.intake.verdicts import Verdict, describe_conflict, explain_verdict
from warehouse.storage.inbox import Inbox
from warehouse.storage.log_records import Delivery
from warehouse.storage.spools import Spool

ACCEPTED, INDEXED = "accepted", "indexed"

_MOST_TOGETHER = 1000  # uploads
_GATHER_SECONDS = 0.003  # in which others may join: each commit costs as much as an upload
_ENOUGH = 8  # uploads that wait for no others; so do all there are
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


class Upload(NamedTuple):
    """A dump that is uploaded.

    Attributes:
        name: What it is called.
        delivery: The dump with all that comes with it.
        manifest: Its manifest as canonical JSON.
        spool: Where it lies, if it is large.
        pool: Pool of its device.
        pools: Device pools that whoever sends it is limited to; None for all.
    """

    name: str
    delivery: Delivery
    manifest: str
    spool: Spool | None = None
    pool: str | None = None
    pools: Collection[str] | None = None

    @property
    def sha256(self) -> str:
        """SHA-256 of the dump."""
        return self.delivery.sha256


class Outcome(NamedTuple):
    """What became of an upload: its state, and whether it is new; or why it is refused."""

    state: str
    is_new: bool = False
    problem: Problem | None = None


class Commits:
    """Brings uploads into the inbox.

    Attributes:
        observe: Called with the seconds of each commit, in any thread.
        groups: Commits of what is small since the start.
    """

    def __init__(
        self,
        inbox: Inbox,
        consumer: Consumer,
        thread: Executor,
        count_coming: Callable[[], int],
    ) -> None:
        """Begin without any.

        Args:
            inbox: Takes them.
            consumer: Is told of them.
            thread: One of its own for what is small, so that a large dump holds up nobody.
            count_coming: Uploads that are under way, those that wait to be committed included.
        """
        self._count_coming = count_coming
        self._inbox, self._consumer, self._thread = inbox, consumer, thread
        self._waiting: dict[asyncio.Future[Outcome], Upload] = {}
        self._task: asyncio.Task[None] | None = None
        self.observe: Callable[[float], None] = lambda _: None
        self.groups = 0

    async def commit(self, upload: Upload) -> Outcome:
        """What became of an upload, which is on disk then if it is accepted.

        Raises:
            StoreError: It cannot be written.
        """
        told: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting[told] = upload
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await told

    def commit_large(self, upload: Upload) -> Outcome | None:
        """Make the file of an upload a log of its own; None if it cannot be one.

        Raises:
            StoreError: It cannot be written.
        """
        (outcome,) = self._judge([upload])
        if outcome.is_new and upload.spool:
            start = time.perf_counter()
            if not upload.spool.become_log(upload.delivery):
                return None
            self.observe(time.perf_counter() - start)
            self._tell([upload])
        return outcome

    async def _run(self) -> None:
        try:
            while self._waiting:
                if len(self._waiting) < min(_ENOUGH, self._count_coming()):
                    await asyncio.sleep(_GATHER_SECONDS)
                group = dict(islice(self._waiting.items(), _MOST_TOGETHER))
                for told in group:
                    del self._waiting[told]
                await self._commit(group)
        finally:
            self._task = None

    async def _commit(self, group: dict[asyncio.Future[Outcome], Upload]) -> None:
        try:
            outcomes = await run_there(self._thread, self._write, list(group.values()))
            for told, outcome in zip(group, outcomes, strict=True):
                if not told.done():
                    told.set_result(outcome)
        except StoreError as error:
            for told in group:
                if not told.done():
                    told.set_exception(error)
        finally:
            for told in group:
                told.cancel()  # does nothing to those that were told

    def _write(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Bring those to disk that are new."""
        outcomes = self._judge(uploads)
        new = [one for one, outcome in zip(uploads, outcomes, strict=True) if outcome.is_new]
        if new:
            start = time.perf_counter()
            self._inbox.accept_all([one.delivery for one in new])
            self.observe(time.perf_counter() - start)
            self._tell(new)
        self.groups += 1
        return outcomes

    def _tell(self, uploads: Sequence[Upload]) -> None:
        for one in uploads:
            self._consumer.known.accept(one.sha256, one.manifest, one.delivery.byte_count)
        self._consumer.given(len(uploads))

    def _judge(self, uploads: Sequence[Upload]) -> list[Outcome]:
        known = self._consumer.known.manifests([one.sha256 for one in uploads])
        faults = check_file_magic([one.delivery.files[0] for one in uploads])
        outcomes, met = [], set[str]()
        for index, one in enumerate(uploads):
            if index in faults:
                fault = Verdict(**vars(faults[index]))
                outcomes.append(_refuse(explain_verdict(fault, one.name, one.delivery.files[0])))
                continue
            is_waiting = one.sha256 in met or self._consumer.known.is_waiting(one.sha256)
            outcomes.append(_compare(one, known.get(one.sha256), is_waiting=is_waiting))
            known.setdefault(one.sha256, one.manifest)
            met.add(one.sha256)
        return outcomes


def _compare(upload: Upload, known: str | None, *, is_waiting: bool) -> Outcome:
    """Whether an upload is new, given its manifest as it is known."""
    if known is None:
        return Outcome(ACCEPTED, is_new=True)
    if known != upload.manifest:
        problem = Problem(HTTPStatus.CONFLICT, "conflict", _explain_conflict(upload, known))
        return Outcome("conflict", problem=problem)
    if len(upload.delivery.files) > 1:  # something may come with it that did not before
        return Outcome(ACCEPTED, is_new=True)
    return Outcome(ACCEPTED if is_waiting else INDEXED)


def _explain_conflict(upload: Upload, known: str) -> str:
    if upload.pools is None or pool_of(known) in upload.pools:
        return describe_conflict(upload.sha256, upload.manifest, known)
    return (
        "these bytes are known under another manifest, of a device pool that the token may not "
        "see: correct what is said here, or ask whoever may see it"
    )


def _refuse(verdict: Verdict) -> Outcome:
    place = "" if verdict.byte_offset is None else f"offset {verdict.byte_offset:,}: "
    problem = Problem(HTTPStatus.BAD_REQUEST, verdict.reason, f"{place}{verdict.detail}")
    return Outcome("refused", problem=problem)


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
