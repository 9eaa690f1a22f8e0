"""Every request is counted, timed and logged; writes and SQL are audited."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import MutableMapping
from itertools import count
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracehouse.cli.serve.access.audit import AuditEntry
from tracehouse.cli.serve.http.logs import LineQueue, Log
from tracehouse.cli.serve.http.metrics import Metrics
from tracehouse.cli.serve.http.problems import Problem, problem_response

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
UNKNOWN = "unknown"  # route of a request for an unknown path


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
