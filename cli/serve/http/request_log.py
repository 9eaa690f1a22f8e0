"""Every request is counted, timed and logged; those that write, and SQL, are audited."""

from __future__ import annotations

import os
import re
import time
from collections.abc import MutableMapping
from http import HTTPStatus
from itertools import count
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cli.serve.access.audit import AuditEntry
from cli.serve.http.line_queue import LineQueue
from cli.serve.http.logs import Log
from cli.serve.http.metrics import Metrics

_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_WRITES = {"POST", "PUT", "PATCH", "DELETE"}
_QUIET = {"/healthz", "/readyz", "/metrics"}  # asked every few seconds
_METHODS = {"GET", "HEAD", "OPTIONS", *_WRITES}
# What is answered is what it says it is, and no page of another site shows or loads it.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
UNKNOWN = "unknown"  # route of a request for none that there is
_NO_ACCESS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


class _Request:
    """What is seen of one request: its body's size and its answer's status."""

    def __init__(self, receive: Receive, send: Send, request_id: str) -> None:
        self._receive, self._send, self.request_id = receive, send, request_id
        self.body_bytes, self.status = 0, 0
        self._started = time.perf_counter()

    async def receive(self) -> Message:
        """The next part of the request, counted."""
        message = await self._receive()
        self.body_bytes += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer; its start with headers that all have."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            request_id = (b"x-request-id", self.request_id.encode())
            message["headers"] = [*message.get("headers", ()), request_id, *_HEADERS]
        await self._send(message)

    def seconds(self) -> float:
        """How long it has taken."""
        return time.perf_counter() - self._started


class RequestLogMiddleware:
    """An application around another, whose answers it passes on.

    What a route knows besides is in the state of its request: `bearer` (who asks), `what` (the
    dump, the statement, for the audit log), `is_audited` (where its method does not tell) and
    `reason` (why it was refused).
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, audit: LineQueue, log: Log) -> None:
        """Watch an application."""
        self._app, self._metrics, self._audit, self._log = app, metrics, audit, log
        self._start, self._count = os.urandom(4).hex(), count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = _Request(receive, send, self._request_id(scope))
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["request_id"] = seen.request_id
        try:
            await self._app(scope, seen.receive, seen.send)
        finally:
            self._note(scope, state, seen)

    def _request_id(self, scope: Scope) -> str:
        given = Headers(scope=scope).get("x-request-id", "")
        return given if _REQUEST_ID.fullmatch(given) else f"{self._start}-{next(self._count):x}"

    def _note(self, scope: Scope, state: MutableMapping[str, Any], seen: _Request) -> None:
        route = getattr(scope.get("route"), "path", UNKNOWN)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        status, seconds = seen.status or 500, seen.seconds()  # without an answer, it is a bug
        reason = state.get("reason", "")
        self._metrics.count_answer(
            route=route, method=method, status=status, reason=reason, seconds=seconds
        )
        bearer = getattr(state.get("bearer"), "name", "")
        what = str(state.get("what") or "/".join(map(str, scope.get("path_params", {}).values())))
        result = reason or ("ok" if status < 400 else "refused")
        milliseconds = round(seconds * 1000, 3)
        is_audited = method in _WRITES or state.get("is_audited", False)
        # Else whoever has no token could fill the audit log until what others did is gone.
        is_nobody = status in _NO_ACCESS and "bearer" not in state
        if is_audited and route != UNKNOWN and not is_nobody:
            entry = AuditEntry(
                bearer, f"{method} {route}", what, result, status, milliseconds,
                seen.body_bytes, seen.request_id,
            )  # fmt: skip
            self._audit.put(entry.line(), is_needed=True)
        if status >= 400 or route not in _QUIET:
            facts = {
                "request_id": seen.request_id, "method": method, "path": scope["path"],
                "status": status, "reason": reason, "milliseconds": milliseconds,
                "bytes": seen.body_bytes, "bearer": bearer,
                "dump": what if route.startswith("/v1/dumps") else "",
            }  # fmt: skip
            level = "error" if status >= 500 else "info"
            self._log.tell(level, "request", facts)
