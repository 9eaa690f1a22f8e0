"""The routes of the service, and those that uploads need not wait for at the start."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from tracehouse.cli.serve.http.health import healthz, readyz
from tracehouse.cli.serve.uploads.batches import post_batch
from tracehouse.cli.serve.uploads.dumps import get_dump, post_dumps, put_dump

EARLY: Sequence[BaseRoute] = (put_dump, post_batch, get_dump, post_dumps, healthz, readyz)


def list_routes() -> Sequence[BaseRoute]:
    """All routes of the service, the most used ones first."""
    from tracehouse.cli.serve.http.late_routes import LATE  # a slow import

    return (*EARLY, *LATE)


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
                from tracehouse.cli.serve.http import late_routes  # a slow import

                self._begin()
                place = self._router.routes.index(self)
                self._router.routes[place : place + 1] = late_routes.LATE
                self._is_loaded = True

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match every request."""
        return (Match.FULL if scope["type"] == "http" else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the route that is there then."""
        await run_in_threadpool(self.load)
        await self._router(scope, receive, send)
