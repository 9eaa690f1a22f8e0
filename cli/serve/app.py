"""The service's routes, put together; each module of this folder brings its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from cli.serve import reads, sql
from cli.serve.problems import answer_problem
from cli.serve.service import Service
from ingest.errors import IngestError
from warehouse.errors import QueryError, WarehouseError

_TOLD = (HTTPException, IngestError, QueryError, WarehouseError)


def make_app(service: Service) -> Starlette:
    """The application that answers for a service, which it closes when it is shut down."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    app = Starlette(
        routes=_routes(),
        lifespan=lifespan,
        exception_handlers=dict.fromkeys(_TOLD, answer_problem),
    )
    app.state.service = service
    return app


def _routes() -> Sequence[BaseRoute]:
    return [*reads.routes(), *sql.routes()]
