"""The application: middleware, and the start and end of its routes and logs."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect

from tracehouse.cli.serve.access.audit import AuditFile
from tracehouse.cli.serve.changes import Changes
from tracehouse.cli.serve.http.heads import HeadLimits
from tracehouse.cli.serve.http.line_queue import LineQueue
from tracehouse.cli.serve.http.logs import Log, LogHandler, write_standard_error
from tracehouse.cli.serve.http.metrics import Metrics
from tracehouse.cli.serve.http.problems import answer_problem
from tracehouse.cli.serve.http.request_log import RequestLogMiddleware
from tracehouse.cli.serve.http.routes import EARLY, LateRoutes
from tracehouse.cli.serve.http.threads import ConcurrencyLimit
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.upkeep.jobs import Jobs
from tracehouse.ingest.errors import IngestError
from tracehouse.warehouse.errors import QueryError, WarehouseError

_SQL_WAITING = 4  # statements that may wait for each worker
_QUESTIONS = 4, 64  # queries of the live store at a time, and waiting ones
_ERRORS = (HTTPException, ClientDisconnect, IngestError, QueryError, WarehouseError, Exception)


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
