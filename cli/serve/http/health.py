"""Health of the service: whether its process lives, and whether it can work."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.http.endpoints import JSON_OBJECT, Operation
from tracehouse.cli.serve.http.line_queue import LineQueue
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.admission import describe_full_backlog
from tracehouse.queries.printable import printable
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import QueryError, StoreError


def find_obstacles(service: Service, audit: LineQueue) -> Iterator[tuple[str, str]]:
    """Each reason why the service cannot work, as a word and a sentence."""
    if problem := _store_problem(service):
        yield "store", problem
    if service.consumer.problem:
        yield "consumer", str(service.consumer.problem)
    try:
        free, wanted = shutil.disk_usage(service.store).free, service.settings.free_bytes
    except OSError as error:
        yield "disk", f"{service.store}: {error.strerror}"
    else:
        if free < wanted:
            yield (
                "disk",
                f"{free:,} bytes free, wanted {wanted:,}: free some space, or run retention",
            )
    if problem := describe_full_backlog(service.consumer.known, service.settings):
        yield "backlog", problem
    if audit.problem:
        yield "audit", f"the audit log cannot be written: {audit.problem}"


def _store_problem(service: Service) -> str:
    """Why the store cannot be read; empty if it can."""
    file = service.store / FILE_NAME
    try:
        with service.reader() as reader:
            reader.sql("SELECT 1 AS one")
        file.stat()
    except (StoreError, QueryError) as error:
        return str(error)
    except OSError as error:
        return f"{file}: {error.strerror}"
    return ""


# Supervisors need no token: the answers reveal nothing secret.
@Operation("/healthz", "Whether the process lives.", {200: JSON_OBJECT}, scopes=())
async def healthz(request: Request) -> Response:
    """Always 200, also while nothing can be stored: a restart would not help."""
    if problem := request.app.state.service.consumer.problem:
        return JSONResponse({"status": "stores nothing", "problem": printable(str(problem))})
    return JSONResponse({"status": "ok"})


@Operation(
    "/readyz",
    "Whether the service can work, or why not.",
    {200: JSON_OBJECT, 503: JSON_OBJECT},
    scopes=(),
)
async def readyz(request: Request) -> Response:
    """The obstacles, if there are any."""
    state = request.app.state
    found = await run_in_threadpool(lambda: list(find_obstacles(state.service, state.audit)))
    obstacles = [{"reason": reason, "detail": printable(detail)} for reason, detail in found]
    if not obstacles:
        return JSONResponse({"status": "ready"})
    request.state.reason = obstacles[0]["reason"]
    return JSONResponse({"status": "not ready", "obstacles": obstacles}, 503)
