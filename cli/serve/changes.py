"""`GET /v1/changes`: counts of what happens in the service, as server-sent events."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tracehouse.cli.serve.http.endpoints import TEXT, Input, Operation
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import check_parameters
from tracehouse.cli.serve.jobs import Jobs
from tracehouse.cli.serve.service import Service
from tracehouse.cli.upkeep.triage import Accept, Note
from tracehouse.queries.printable import json_text
from tracehouse.warehouse.errors import StoreError

MOST_LISTENERS = 1000
PAUSE_SECONDS = 1.0  # what happens meanwhile is one event
BEAT_SECONDS = 15.0  # to a comment in a stream without events, lest a proxy closes it
LAST_ID = "Last-Event-ID"

_RETRY_MILLISECONDS = 2000  # until a client connects again
_MEDIA_TYPE = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Counts(NamedTuple):
    """Numbers of what happened since the service started.

    Attributes:
        dumps: Dumps that were stored.
        refused: Files that were refused.
        nights: Nights that were judged.
        upkeep: Upkeep tasks that were done.
        decisions: Decisions about alerts, and notes on points.
    """

    dumps: int = 0
    refused: int = 0
    nights: int = 0
    upkeep: int = 0
    decisions: int = 0

    def since(self, earlier: Counts) -> Counts:
        """The differences from earlier counts."""
        return Counts(*(max(n - before, 0) for n, before in zip(self, earlier, strict=True)))


class Changes:
    """Streams of what happens, each for one client; a stream ends with `end`.

    A stream compares counts every second. So it needs neither a thread nor a queue, and a slow
    client gets one event about all that it has missed. The id of an event is made of the counts,
    which let the next stream of the client continue. It reveals nothing that its client may not
    know.
    """

    def __init__(self, service: Service, jobs: Jobs) -> None:
        self._service, self._jobs = service, jobs
        self._start = secrets.token_hex(4)  # counts of another start are not comparable
        self._ended = asyncio.Event()
        self.listeners = 0

    def end(self) -> None:
        """End all streams, in the event loop."""
        self._ended.set()

    def count(self, pools: Collection[str] | None) -> Counts:
        """The counts for a client that is limited to pools of devices, or not (None).

        Only dumps belong to a pool.
        """
        consumer, done = self._service.consumer, self._jobs.done
        if pools is not None:
            return Counts(sum(consumer.indexed[pool] for pool in pools))
        decisions = done[Accept.name] + done[Note.name]
        return Counts(
            consumer.indexed.total(),
            consumer.refused.total(),
            self._service.nights.judged_count,
            done.total() - decisions,
            decisions,
        )

    def name(self, counts: Counts) -> str:
        """The id of an event after which the counts are these."""
        return "-".join([self._start, *map(str, counts)])

    def parse(self, name: str) -> Counts:
        """The counts in an id; zeros if the id is of an earlier start of the service."""
        if not re.fullmatch(rf"{self._start}(-[0-9]{{1,15}}){{{len(Counts._fields)}}}", name):
            return Counts()
        return Counts(*map(int, name.split("-")[1:]))

    async def stream(self, request: Request, since: str | None) -> AsyncIterator[str]:
        """Events for the client of a request, while it has the right to read.

        Args:
            request: The request; its state has the client.
            since: Id of the last event that the client knows; None to begin now.
        """
        self.listeners += 1
        try:
            pools = request.state.bearer.pools
            known = self.count(pools) if since is None else self.parse(since)
            yield f"retry: {_RETRY_MILLISECONDS}\nid: {self.name(known)}\n\n"
            pauses = 0
            while not await self._has_ended(PAUSE_SECONDS):
                pauses += 1
                counts = self.count(pools)
                is_event = counts != known
                if not (is_event or pauses * PAUSE_SECONDS >= BEAT_SECONDS):
                    continue
                if not self._may_read(request):
                    break
                yield self._event(counts, known) if is_event else ":\n\n"
                known, pauses = counts, 0
        finally:
            self.listeners -= 1

    def _event(self, counts: Counts, known: Counts) -> str:
        text = json_text(counts.since(known)._asdict())
        return f"id: {self.name(counts)}\ndata: {text}\n\n"

    async def _has_ended(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        return self._ended.is_set()

    def _may_read(self, request: Request) -> bool:
        try:
            self._service.access.need(request, *changes.operation.scopes)
        except (Problem, StoreError):
            return False
        return True


@Operation(
    "/v1/changes",
    "Counts of what happens, as server-sent events.",
    {200: {_MEDIA_TYPE: TEXT}},
    (
        Input("since", "query", TEXT, "Id of the last event that is known; by default now."),
        Input(LAST_ID, "header", TEXT, "The same, which clients send when they connect again."),
    ),
    problems=(400, 429),
)
async def changes(request: Request) -> Response:
    """A stream of events, which goes on until the client or the service ends it.

    Raises:
        Problem: 429 if there are too many streams.
    """
    check_parameters(request, ("since",))
    found: Changes = request.app.state.changes
    if found.listeners >= MOST_LISTENERS:
        detail = f"{found.listeners:,} clients listen already: try again in a minute"
        raise Problem(429, "busy", detail, retry_after=60)
    if request.method == "HEAD":
        return Response(media_type=_MEDIA_TYPE, headers=_HEADERS)
    since = request.headers.get(LAST_ID) or request.query_params.get("since")
    return StreamingResponse(found.stream(request, since), media_type=_MEDIA_TYPE, headers=_HEADERS)
