"""Connections of clients, and limits of what a request says before its body.

Heads are parsed in the event loop, which answers nobody else meanwhile.
"""

from __future__ import annotations

import asyncio
import resource
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tracehouse.cli.serve.http.problems import Problem, problem_response

HEAD_BYTES = 64 << 10  # largest head
MOST_PARAMETERS = 1_000  # an address or a statement has no more
COOKIE_BYTES = 8 << 10  # all cookies together: other services of the host may have set some
HEADER_BYTES = 2 << 10  # limit of any other header that is parsed

_LONGEST = {
    b"cookie": COOKIE_BYTES,
    **dict.fromkeys(
        (b"accept", b"authorization", b"content-encoding", b"content-type", b"host",
         b"if-none-match", b"last-event-id", b"origin"),
        HEADER_BYTES,
    ),
}  # fmt: skip

_REMEDY = "ask for fewer names, or for globs of them"

_MOST_BYTES = 16 << 10  # more than this is sent at once
HEAD_SECONDS = 10.0  # longest time until the head of a request is complete
READ_SECONDS = 60.0  # longest time in which a client reads nothing of an answer
MOST_CONNECTIONS = 16_384
WAITING_BYTES = 256 << 10  # reading pauses while more of a body waits
READ_BYTES = 64 << 10  # parsed at a time; then other connections have their turn
_OTHER_FILES = 512  # files that a service has open besides connections


class HeadTooLongProblem(Problem):
    """The head of a request is above its limit."""

    def __init__(self) -> None:
        detail = f"the head has more than {HEAD_BYTES:,} bytes: {_REMEDY}"
        super().__init__(431, "head_too_long", detail)


class HeadLimits:
    """Refuses requests whose address is above a limit, before anything reads its parameters.

    A connection limits the heads that it receives; requests of agents come without one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused; the request's state keeps the reason."""
        problem = _find_problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        scope["state"]["reason"] = problem.reason
        await problem_response(problem)(scope, receive, send)


def _find_problem(scope: Scope) -> Problem | None:
    query, left = scope["query_string"], dict(_LONGEST)
    for name, value in scope["headers"]:
        if name in left:
            left[name] -= len(value)
            if left[name] < 0:
                detail = f"{name.decode()}: more than {_LONGEST[name]:,} bytes: send fewer values"
                return Problem(431, "header_too_long", detail)
    if len(query) > HEAD_BYTES:
        return HeadTooLongProblem()
    if (count := query.count(b"&") + 1) > MOST_PARAMETERS:
        detail = f"the address has {count:,} parameters, wanted at most {MOST_PARAMETERS:,}"
        return Problem(400, "parameter_count", f"{detail}: ask for globs of names, or in parts")
    return None


class JoinedWrites:
    """A transport around another, which sends an answer's head and short body in one system call.

    Each system call lets other threads run, and the event loop then waits for them.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []
        self._byte_count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data, together with other data of this turn."""
        if not self._waiting:
            self._loop.call_soon(self._send)
        self._waiting.append(data)
        self._byte_count += len(data)
        if self._byte_count > _MOST_BYTES:
            self._send()

    def get_write_buffer_size(self) -> int:
        """Number of unsent bytes."""
        return self._byte_count + self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close the connection once everything is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._waiting:
            self._transport.write(b"".join(self._waiting))
            self._waiting, self._byte_count = [], 0


def most_connections() -> int:
    """The number of connections allowed at a time; raises the limit of open files for them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - _OTHER_FILES, allowed // 2)


class Connection(HttpToolsProtocol):
    """A connection, closed if a request's head is too long or slow, or its answer is not read.

    Connections beyond `most` are closed at once.
    """

    most = MOST_CONNECTIONS

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, unless there are too many connections."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_head_awaited, self._is_in_head = True, False
        self._head_bytes, self._begun = 0, 0
        self._pieces: list[bytes] = []  # received of a body and not passed on yet
        with suppress(AttributeError):  # only transports of asyncio have it
            transport.max_size = READ_BYTES
        joined: Any = JoinedWrites(transport, self.loop)
        super().connection_made(joined)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the rest of a request's head."""
        super().on_message_begin()
        self._is_head_awaited = self._is_in_head = True
        self._head_bytes = 0
        self._begun += 1
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Parse more of a request; if all of it belongs to a head that began earlier, count it."""
        only_head = 0 if self._is_in_head else 1  # heads that begin in data that is all one head
        is_awaited, self._begun = self._is_head_awaited, 0
        super().data_received(data)
        self._pass_body()
        if self._is_in_head and is_awaited and self._begun == only_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("")

    def on_headers_complete(self) -> None:
        """Begin to answer; `bodies.receive` limits the time for the body."""
        self._is_head_awaited = self._is_in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a piece of a body, of which there may be thousands in what was received."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Pass on the end of a body."""
        self._pass_body()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, or the rest of one that was answered early."""
        super().on_response_complete()
        cycle: Any = self.cycle  # only the newest request may wait for the next head
        if not self.transport.is_closing() and cycle.response_complete:
            self._is_head_awaited = True
            self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer that the head of a request is malformed or too long, and close the connection."""
        problem = Problem(400, "malformed", msg)
        if self._head_bytes > HEAD_BYTES:
            problem = HeadTooLongProblem()
        answer = problem_response(problem)
        status = f"HTTP/1.1 {problem.status_code} {HTTPStatus(problem.status_code).phrase}"
        headers = (name + b": " + value for name, value in answer.raw_headers)
        lines = [status.encode(), *headers, b"connection: close", b"", bytes(answer.body)]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    def pause_writing(self) -> None:
        """Wait until the client reads more of an answer."""
        super().pause_writing()
        self._watch()

    def _pass_body(self) -> None:
        """Pass on the pieces of a body, without a copy if there is one and no other waits."""
        if not self._pieces:
            return
        cycle: Any = self.cycle
        body, self._pieces = b"".join(self._pieces), []
        if cycle is None or cycle.response_complete:
            return
        cycle.body = cycle.body + body if cycle.body else body
        if len(cycle.body) > WAITING_BYTES:
            self.flow.pause_reading()
        cycle.message_event.set()

    def _watch(self, unread: int = 0, since: float = 0.0) -> None:
        """Check later whether the client has read some of the `unread` bytes."""
        if self._timer:
            self._timer.cancel()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._look, unread, since)

    def _look(self, unread_before: int, since: float) -> None:
        unread, now = self.transport.get_write_buffer_size(), self.loop.time()
        if unread != unread_before:
            self._watch(unread, now)
        elif unread and now - since <= READ_SECONDS:
            self._watch(unread, since)
        elif unread or self._is_head_awaited:
            self.transport.abort()
