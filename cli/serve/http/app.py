"""The application: routes, middleware and the start and end of its logs."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route

from cli.serve.access.audit import AuditFile
from cli.serve.answers.agents import PATH, AgentEndpoint
from cli.serve.answers.explanations import explain
from cli.serve.answers.fleet_metrics import fleet_figures
from cli.serve.answers.questions import ConcurrencyLimit
from cli.serve.answers.reads import list_queries, query, report, schema, status
from cli.serve.answers.sql import WAITING, sql
from cli.serve.changes import Changes, changes
from cli.serve.http.heads import HeadLimits
from cli.serve.http.health import healthz, readyz
from cli.serve.http.line_queue import LineQueue
from cli.serve.http.logs import Log, LogHandler, write_standard_error
from cli.serve.http.metrics import Metrics, figures
from cli.serve.http.openapi import document
from cli.serve.http.problems import answer_problem
from cli.serve.http.request_log import RequestLogMiddleware
from cli.serve.page.routes import ROUTES as PAGE
from cli.serve.service import Service
from cli.serve.upkeep.endpoints import ENDPOINTS as UPKEEP
from cli.serve.upkeep.jobs import Jobs
from cli.serve.uploads.batches import post_batch
from cli.serve.uploads.dumps import get_dump, post_dumps, put_dump
from ingest.errors import IngestError
from warehouse.errors import QueryError, WarehouseError

_QUESTIONS = 4, 64  # queries of the live store at a time, and waiting ones
_ERRORS = (HTTPException, ClientDisconnect, IngestError, QueryError, WarehouseError, Exception)


def make_app(service: Service) -> Starlette:
    """The application of a service, which is closed when the application shuts down.

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
            yield

    app = Starlette(
        routes=list_routes(),
        lifespan=lifespan,
        middleware=[
            Middleware(RequestLogMiddleware, metrics=metrics, audit=audit, log=log),
            Middleware(HeadLimits),
        ],
        exception_handlers=dict.fromkeys(_ERRORS, answer_problem),
    )
    app.state.service, app.state.metrics, app.state.audit = service, metrics, audit
    workers = service.settings.sql_workers
    app.state.jobs, app.state.changes = jobs, streams
    app.state.fleet_texts = {}
    app.state.store_limit = ConcurrencyLimit(*_QUESTIONS)
    app.state.sql_limit = ConcurrencyLimit(workers, WAITING * workers)
    return app


def _close(service: Service) -> None:
    with suppress(WarehouseError):
        service.close()  # `run_service` reports the error


def list_routes() -> Sequence[BaseRoute]:
    """The routes of the service, the most used ones first."""
    uploads = put_dump, post_batch, get_dump, post_dumps
    reads = list_queries, query, schema, report, explain, status, sql, changes
    # Its GET would be a stream that never says anything: the endpoint keeps no sessions.
    agents = Route(PATH, AgentEndpoint(), methods=["POST"], include_in_schema=False)
    open_ = healthz, readyz, figures, fleet_figures, document
    return [*uploads, *open_, *PAGE, *reads, agents, *UPKEEP]
