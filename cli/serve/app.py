"""The application: its routes, its middleware, and the start and end of both."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from tracehouse.cli.serve.access.audit import AuditFile
from tracehouse.cli.serve.changes import Changes
from tracehouse.cli.serve.http.connections import HeadLimits
from tracehouse.cli.serve.http.logs import LineQueue, Log, LogHandler, write_standard_error
from tracehouse.cli.serve.http.metrics import Metrics, healthz, readyz
from tracehouse.cli.serve.http.problems import answer_problem
from tracehouse.cli.serve.http.request_log import RequestLogMiddleware
from tracehouse.cli.serve.http.threads import ConcurrencyLimit
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.upkeep.jobs import Jobs
from tracehouse.cli.serve.uploads.batches import post_batch
from tracehouse.cli.serve.uploads.dumps import get_dump, post_dump
from tracehouse.ingest.errors import IngestError
from tracehouse.warehouse.errors import QueryError, WarehouseError

EARLY: Sequence[BaseRoute] = (post_batch, post_dump, get_dump, healthz, readyz)

_SQL_WAITING = 4  # statements that may wait for each worker
_QUESTIONS = 4, 64  # queries of the live store at a time, and waiting ones
_ERRORS = (HTTPException, ClientDisconnect, IngestError, QueryError, WarehouseError, Exception)


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
    from tracehouse.cli.serve.http.metrics import figures
    from tracehouse.cli.serve.http.openapi import document
    from tracehouse.cli.serve.page.routes import ROUTES as PAGE
    from tracehouse.cli.serve.upkeep.endpoints import ENDPOINTS as UPKEEP

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
