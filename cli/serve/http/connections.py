"""Connections: each has so long to say what it wants, in so many bytes, and there are so many."""

from __future__ import annotations

import asyncio
import resource
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cli.serve.http.joined_writes import JoinedWrites
from cli.serve.http.problems import Problem, problem_response

HEAD_SECONDS = 10.0  # in which the head of a request must come
HEAD_BYTES = 64 << 10  # that come of it before it ends
READ_SECONDS = 60.0  # in which something of an answer must be read
MOST_CONNECTIONS = 16_384
WAITING_BYTES = 256 << 10  # of a body, beyond which no more is taken; what comes at once at most

_OTHER_FILES = 512  # that a service may have open besides


def most_connections() -> int:
    """How many connections there may be at a time, with as many open files as may be allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - _OTHER_FILES, allowed // 2)


class Connection(HttpToolsProtocol):
    """A connection, closed where a request's head is too long or slow, or no answer is read.

    One beyond the most there may be is closed at once.
    """

    most = MOST_CONNECTIONS

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, unless there are too many."""
        self._waiting: asyncio.TimerHandle | None = None  # for a head
        self._reading: asyncio.TimerHandle | None = None  # until more of an answer is read
        self._is_in_head, self._head_bytes, self._begun = False, 0, 0
        joined: Any = JoinedWrites(transport, self.loop)
        super().connection_made(joined)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        self._stop_reading()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the rest of a request's head."""
        super().on_message_begin()
        self._is_in_head, self._head_bytes = True, 0
        self._begun += 1
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take more of a request, and count it where it is all of one head that goes on."""
        only_head = 0 if self._is_in_head else 1  # that begins in it, unless a body comes first
        is_awaited, self._begun = self._waiting is not None, 0
        super().data_received(data)
        if self._is_in_head and is_awaited and self._begun == only_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("")

    def on_headers_complete(self) -> None:
        """Begin to answer; the body's pace is for whoever reads it."""
        self._stop_waiting()
        self._is_in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body, which is not copied if the one before it was handed on."""
        cycle: Any = self.cycle
        if not cycle.response_complete:
            cycle.body = cycle.body + body if cycle.body else body
            if len(cycle.body) > WAITING_BYTES:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of one that was answered before its end."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with the head of a request, and close the connection."""
        problem = Problem(HTTPStatus.BAD_REQUEST, "malformed", msg)
        if self._head_bytes > HEAD_BYTES:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            detail = f"its head has more than {HEAD_BYTES:,} bytes: send a manifest in a form"
            problem = Problem(status, "head_too_long", detail)
        answer = problem_response(problem)
        lines = [
            f"HTTP/1.1 {problem.status_code} {HTTPStatus(problem.status_code).phrase}".encode()
        ]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", b""]))
        self.transport.write(bytes(answer.body))
        self.transport.close()

    def pause_writing(self) -> None:
        """Wait until more of an answer is read."""
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        """Write the rest of it."""
        self._stop_reading()
        super().resume_writing()

    def _await_head(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._look_for_head)

    def _look_for_head(self) -> None:
        if not self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        self._await_head()  # whoever asks next reads the last answer first
        if self._reading is None:
            self._await_reading()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _await_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(READ_SECONDS, self._look_for_reading, unread)

    def _look_for_reading(self, unread_before: int) -> None:
        self._reading = None
        unread = self.transport.get_write_buffer_size()
        if 0 < unread < unread_before:
            self._await_reading()
        elif unread:
            self.transport.abort()

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
