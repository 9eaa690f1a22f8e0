"""Clients that go away: work that nobody waits for any more is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from tracehouse.warehouse.errors import QueryError, WarehouseError


@asynccontextmanager
async def stopping_without_client(
    request: Request, stop: Callable[[], None]
) -> AsyncIterator[None]:
    """Call `stop` if the client goes away meanwhile; read the body of the request before.

    Raises:
        ClientDisconnect: The work failed after the client went away.
        QueryError: It failed while the client waited.
        WarehouseError: It failed likewise.
    """
    watcher = asyncio.create_task(_watch(request, stop))
    try:
        yield
    except (QueryError, WarehouseError) as error:  # which a stop causes
        if watcher.done():
            raise ClientDisconnect from error
        raise
    finally:
        watcher.cancel()


async def _watch(request: Request, stop: Callable[[], None]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop()
