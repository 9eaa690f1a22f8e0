"""The application: its routes, its middleware, and the start and end of both."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracehouse.cli.serve.access.audit import AuditEntry, AuditFile
from tracehouse.cli.serve.changes import Changes
from tracehouse.cli.serve.http.connections import HeadLimits
from tracehouse.cli.serve.http.logs import LineQueue, Log, LogHandler, write_standard_error
from tracehouse.cli.serve.http.problems import Problem, answer_problem, problem_response
from tracehouse.cli.serve.http.threads import ConcurrencyLimit
from tracehouse.cli.serve.jobs import Jobs
from tracehouse.cli.serve.metrics import Metrics, healthz, readyz
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.batches import post_batch
from tracehouse.cli.serve.uploads.dumps import get_dump, post_dump
from tracehouse.ingest.errors import IngestError
from tracehouse.warehouse.errors import QueryError, WarehouseError

UNKNOWN = "unknown"  # route of a request for an unknown path
EARLY: Sequence[BaseRoute] = (post_batch, post_dump, get_dump, healthz, readyz)

_SQL_WAITING = 4  # statements that may wait for each worker
_QUESTIONS = 4, 64  # queries of the live store at a time, and waiting ones
_ERRORS = (HTTPException, ClientDisconnect, IngestError, QueryError, WarehouseError, Exception)
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_WRITES = {"POST", "PUT", "PATCH", "DELETE"}
_QUIET = {"/healthz", "/readyz", "/metrics"}  # requested every few seconds
_METHODS = {"GET", "HEAD", "OPTIONS", *_WRITES}
# Browsers do not guess the type of an answer, and no page of another site shows or loads it.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
)
# Reports, drawings, feeds and data load nothing and run nothing; the site's pages say what they do.
_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
)


def list_routes() -> Sequence[BaseRoute]:
    """All routes of the service, the most used ones first."""
    return (*EARLY, *late_routes())


def late_routes() -> Sequence[BaseRoute]:
    """The routes that are imported after the service has begun to take uploads."""
    from tracehouse.cli.serve.answers.agents import PATH, AgentEndpoint
    from tracehouse.cli.serve.answers.fleet_metrics import fleet_figures
    from tracehouse.cli.serve.answers.reads import (
        explain,
        list_queries,
        query,
        report,
        schema,
        status,
    )
    from tracehouse.cli.serve.answers.sql import sql
    from tracehouse.cli.serve.changes import changes
    from tracehouse.cli.serve.http.openapi import document
    from tracehouse.cli.serve.metrics import figures
    from tracehouse.cli.serve.page.routes import ROUTES as PAGE
    from tracehouse.cli.serve.upkeep import ENDPOINTS as UPKEEP

    reads = list_queries, query, schema, report, explain, status, sql, changes
    # Its GET would be a stream that never says anything: the endpoint keeps no sessions.
    agents = Route(PATH, AgentEndpoint(), methods=["POST"], include_in_schema=False)
    return (figures, fleet_figures, document, *PAGE, *reads, agents, *UPKEEP)


class LateRoutes(BaseRoute):
    """The route of requests that no early route answers: they wait until all routes are there.

    It is a route of the router until it is loaded, then the late routes stand in its place.
    """

    def __init__(self, router: Router, begin: Callable[[], object]) -> None:
        """Take the router, and what to call before the late routes are there."""
        self._router, self._begin = router, begin
        self._lock, self._is_loaded = threading.Lock(), False

    def load(self) -> None:
        """Import the late routes, at the first call."""
        with self._lock:
            if not self._is_loaded:
                late = late_routes()
                self._begin()
                place = self._router.routes.index(self)
                self._router.routes[place : place + 1] = late
                self._is_loaded = True

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match every request."""
        return (Match.FULL if scope["type"] == "http" else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the route that is there then."""
        await run_in_threadpool(self.load)
        await self._router(scope, receive, send)


def make_app(service: Service, *, when_loaded: Callable[[], object] = lambda: None) -> Starlette:
    """The application of a service, which is closed when the application shuts down.

    It begins with the routes of uploads. A thread loads the others, and then calls `when_loaded`.

    The application's state has the `service`, its `metrics`, the queue `audit` of the audit
    log, the `jobs` of upkeep, the streams of `changes`, the last `fleet_texts` by pools, and the
    limits of queries of the live store and of SQL.
    """
    audit_file = AuditFile(service.store)
    audit = LineQueue(audit_file.append)
    lines = LineQueue(write_standard_error, patience=1.0)
    log = Log(lines, is_terminal=sys.stderr.isatty())
    jobs = Jobs(service)
    streams = Changes(service, jobs)
    metrics = Metrics(service, audit, lines, streams)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        with ExitStack() as open_:
            open_.callback(audit_file.close)
            open_.enter_context(audit)
            open_.enter_context(lines)
            handler = LogHandler(log)
            logging.getLogger().addHandler(handler)
            open_.callback(logging.getLogger().removeHandler, handler)
            open_.callback(_close, service)
            loading = threading.Thread(target=load, name="late routes")
            loading.start()
            open_.callback(loading.join)
            yield

    app = Starlette(
        routes=EARLY,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestLogMiddleware, metrics=metrics, audit=audit, log=log),
            Middleware(HeadLimits),
        ],
        exception_handlers=dict.fromkeys(_ERRORS, answer_problem),
    )
    late = LateRoutes(app.router, service.complete)
    app.router.routes.append(late)

    def load() -> None:
        late.load()
        when_loaded()

    app.state.service, app.state.metrics, app.state.audit = service, metrics, audit
    workers = service.settings.sql_workers
    app.state.jobs, app.state.changes = jobs, streams
    app.state.fleet_texts = {}
    app.state.store_limit = ConcurrencyLimit(*_QUESTIONS)
    app.state.sql_limit = ConcurrencyLimit(workers, _SQL_WAITING * workers)
    return app


def _close(service: Service) -> None:
    with suppress(WarehouseError):
        service.close()  # `run_service` reports the error


class _Request:
    """Measures one request."""

    def __init__(self, receive: Receive, send: Send, request_id: str) -> None:
        self._receive, self._send, self.request_id = receive, send, request_id
        self.body_bytes, self.status = 0, 0
        self.start = time.perf_counter()

    async def receive(self) -> Message:
        """The next part of the request."""
        message = await self._receive()
        self.body_bytes += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers of every answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *_HEADERS]
            headers.append((b"x-request-id", self.request_id.encode()))
            if all(name != _POLICY[0] for name, _ in headers):
                headers.append(_POLICY)
            message["headers"] = headers
        await self._send(message)


class RequestLogMiddleware:
    """Passes requests to an application and logs its answers.

    Handlers may set attributes of the request's state: `bearer` (the client), `what` (the dump or
    the statement), `is_audited` (whatever the method is) and `reason` (why it was refused).
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, audit: LineQueue, log: Log) -> None:
        self._app, self._metrics, self._audit, self._log = app, metrics, audit, log
        self._prefix, self._count = os.urandom(4).hex(), count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one that the end of the service interrupts is deferred.

        Raises:
            CancelledError: The service ended in the middle of an answer.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(receive, send, self._request_id(scope))
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request.request_id
        try:
            await self._app(scope, request.receive, request.send)
        except asyncio.CancelledError:  # the service ends
            if request.status:
                raise
            ending = Problem(503, "ending", "the service ends: try again soon", retry_after=1)
            state["reason"] = ending.reason
            await problem_response(ending)(scope, request.receive, request.send)
        finally:
            self._note(scope, state, request)

    def _request_id(self, scope: Scope) -> str:
        given = Headers(scope=scope).get("x-request-id", "")
        return given if _REQUEST_ID.fullmatch(given) else f"{self._prefix}-{next(self._count):x}"

    def _note(self, scope: Scope, state: MutableMapping[str, Any], request: _Request) -> None:
        route = getattr(scope.get("route"), "path", UNKNOWN)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        status = request.status or 500  # no answer means a bug
        seconds, reason = time.perf_counter() - request.start, state.get("reason", "")
        self._metrics.count_answer(
            route=route, method=method, status=status, reason=reason, seconds=seconds
        )
        bearer = getattr(state.get("bearer"), "name", "")
        what = str(state.get("what") or "/".join(map(str, scope.get("path_params", {}).values())))
        result = reason or ("ok" if status < 400 else "refused")
        milliseconds = round(seconds * 1000, 3)
        is_audited = method in _WRITES or state.get("is_audited", False)
        # Clients without a token could fill the audit log and push other lines out.
        is_nobody = status in {401, 403} and "bearer" not in state
        if is_audited and route != UNKNOWN and not is_nobody:
            entry = AuditEntry(
                bearer, f"{method} {route}", what, result, status, milliseconds,
                request.body_bytes, request.request_id,
            )  # fmt: skip
            self._audit.put(entry.line(), is_needed=True)
        if status >= 400 or route not in _QUIET:
            facts = {
                "request_id": request.request_id, "method": method, "path": scope["path"],
                "status": status, "reason": reason, "milliseconds": milliseconds,
                "bytes": request.body_bytes, "bearer": bearer,
                "dump": what if route.startswith("/v1/dumps") else "",
            }  # fmt: skip
            self._log.write("error" if status >= 500 else "info", "request", facts)
