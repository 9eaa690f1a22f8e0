"""A service made with only the standard library, which accepts dumps as ours, or refuses them."""

from __future__ import annotations

import hashlib
import io
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import BytesParser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.queries.formats import write_arrow


class Request(NamedTuple):
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Refused(NamedTuple):
    """A prepared answer to the next request; status 0 closes the connection without one."""

    status: int
    headers: dict[str, str] = {}  # noqa: RUF012
    reason: str = "refused"
    detail: str = "not now"
    is_read: bool = True


class StandIn:
    """The requests, dumps and prepared refusals of the service.

    Attributes:
        url: Its address.
        asked: Requests, in order.
        held: By SHA-256, the dump's manifest and its companions.
        refusals: Answers to the next requests.
        answers: Bodies of answers, by path.
        statuses: Their statuses, where they are not 200.
        connections: Number of connections.
        unread: Bytes received of each body that was refused before it was read.
        faulty: Refusals of dumps in batches by SHA-256, once each.
        is_asking: Whether it answers "100 Continue" to an announced body, as in HTTP/1.1.
    """

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Request] = []
        self.held: dict[str, dict[str, bytes]] = {}
        self.refusals: list[Refused] = []
        self.answers: dict[str, tuple[str, bytes]] = {}
        self.statuses: dict[str, int] = {}
        self.connections = 0
        self.unread: list[int] = []
        self.faulty: dict[str, Refused] = {}
        self.is_asking = True
        self.lock = threading.Lock()

    def take_in_turn(self, parts: dict[str, bytes]) -> tuple[int, dict[str, Any]]:
        """Accept a dump of a batch, unless it is faulty: then once not."""
        refused = self.faulty.pop(hashlib.sha256(parts["dump"]).hexdigest(), None)
        if refused:
            return refused.status, {"reason": refused.reason, "detail": refused.detail}
        return self.take(parts)

    def take(self, parts: dict[str, bytes]) -> tuple[int, dict[str, Any]]:
        """Accept a dump, as the contract says."""
        sha256 = hashlib.sha256(parts["dump"]).hexdigest()
        known = self.held.get(sha256)
        if known and json.loads(known["manifest"]) != json.loads(parts["manifest"]):
            return 409, {"reason": "conflict", "detail": "other manifest", "status": 409}
        self.held[sha256] = parts
        return (200 if known else 201), {"sha256": sha256, "state": "accepted"}


def arrow_answer(table: pa.Table) -> tuple[str, bytes]:
    """A service's answer with a table."""
    sink = io.BytesIO()
    write_arrow(table, sink)
    return "application/vnd.apache.arrow.stream", sink.getvalue()


@contextmanager
def stand_in_service(*, certificate: Path | None = None) -> Iterator[StandIn]:
    """A service on loopback until the body ends; with a certificate and its key, over TLS."""
    stand_in = StandIn()

    class Handler(_Handler):
        service = stand_in

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in.url = f"http://127.0.0.1:{server.server_address[1]}"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        stand_in.url = stand_in.url.replace("http:", "https:")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield stand_in
    finally:
        server.shutdown()
        thread.join()
        server.socket.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: StandIn

    def handle_expect_100(self) -> bool:
        """Answer "100 Continue" if `is_asking`, unless the body is refused before it is read."""
        refusals = self.service.refusals
        is_asked = self.service.is_asking and not (refusals and not refusals[0].is_read)
        return super().handle_expect_100() if is_asked else True

    def setup(self) -> None:
        super().setup()
        with self.service.lock:
            self.service.connections += 1

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        with self.service.lock:
            refused = self.service.refusals.pop(0) if self.service.refusals else None
            if refused and not refused.is_read:
                self.close_connection = True
                self._refuse(refused)
                self.service.unread.append(len(self.rfile.read()))
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Request(self.command, self.path, dict(self.headers), body)
            self.service.asked.append(asked)
            if refused:
                self._refuse(refused)
            else:
                self._take(asked)

    def _refuse(self, refused: Refused) -> None:
        if not refused.status:
            self.close_connection = True
            return
        answer = {"status": refused.status, "reason": refused.reason, "detail": refused.detail}
        self._send(refused.status, json.dumps(answer).encode(), refused.headers)

    def _take(self, asked: Request) -> None:
        path = asked.path.partition("?")[0]
        if path in self.service.answers:
            kind, body = self.service.answers[path]
            self._send(self.service.statuses.get(path, 200), body, {"Content-Type": kind})
        elif path == "/v1/dumps:batch":
            results = [self.service.take_in_turn(parts) for parts in _records(asked.body)]
            content = [{**answer, "status": status} for status, answer in results]
            body = json.dumps({"dumps": content}).encode()
            self._send(200, body, {"Retry-After": "0"})
        elif asked.method == "POST" and path == "/v1/dumps":
            self._send_json(*self.service.take(_parts(asked)))
        else:
            self._send_json(404, {"status": 404, "reason": "unknown", "detail": f"no {path}"})

    def _send_json(self, status: int, answer: dict[str, Any]) -> None:
        self._send(status, json.dumps(answer).encode(), {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(HTTPStatus(status))
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _records(body: bytes) -> Iterator[dict[str, bytes]]:
    """The parts of each dump of a batch."""
    stream = io.BytesIO(body)
    while line := stream.readline():
        sizes = json.loads(line)
        names = ("manifest", "dump", "etrecord", "debug_buffer")
        parts = {name: stream.read(sizes[name]) for name in names if name in sizes}
        assert hashlib.sha256(parts["dump"]).hexdigest() == sizes["sha256"]
        yield parts


def _parts(asked: Request) -> dict[str, bytes]:
    head = f"Content-Type: {asked.headers['Content-Type']}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + asked.body)
    return {
        str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
        for part in message.get_payload()
    }
