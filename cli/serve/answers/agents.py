"""`/mcp`: answers agents by the Model Context Protocol.

Each call of a tool becomes a request to another endpoint of this service, by the same client, so
the same tokens, pools, limits and logs apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from http.client import HTTPMessage
from typing import Any
from urllib.parse import urlsplit

from anyio import from_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as ConnectionScope

from tracehouse.cli.agents.asked_store import AskedStore
from tracehouse.cli.remote import RemoteStore
from tracehouse.cli.serve.access.authorization import CLIENT_HEADERS, Scope
from tracehouse.cli.serve.http.endpoints import parse_body, read_short
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import ConcurrencyLimit
from tracehouse.ingest.remote import ServiceAnswer, ServiceConnection
from tracehouse.warehouse.errors import QueryError

PATH = "/mcp"
_KEPT = (
    "type",
    "asgi",
    "http_version",
    "scheme",
    "client",
    "server",
)  # fields of the outer request
CALLS = 8, 96  # answered at a time; waiting
_PASSED = {name.encode() for name in (*CLIENT_HEADERS, "x-request-id")}


class OwnConnection(ServiceConnection):
    """A connection to the service that the process itself is, for a thread of its event loop."""

    def __init__(self, request: Request) -> None:
        """Take the request whose client asks."""
        super().__init__("http://127.0.0.1", token="")
        self._request = request

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: Sequence[bytes | memoryview]
    ) -> ServiceAnswer:
        return from_thread.run(self._ask, method, path, headers, b"".join(body))

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> ServiceAnswer:
        outer, place = self._request.scope, urlsplit(path)
        passed = [pair for pair in outer["headers"] if pair[0] in _PASSED]
        own = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {
            **{name: outer[name] for name in _KEPT if name in outer},
            "method": method,
            "path": place.path,
            "raw_path": place.path.encode(),
            "query_string": place.query.encode(),
            "headers": passed + own,
            "root_path": "",
        }
        receive = _make_receive(body, self._request.receive)
        most_bytes = self._request.app.state.service.settings.answer_bytes
        return await _ask(self._request.app, scope, receive, most_bytes)


async def _ask(
    app: ASGIApp, scope: ConnectionScope, receive: Receive, most_bytes: int
) -> ServiceAnswer:
    """The answer of an application, in memory.

    Raises:
        QueryError: It has more bytes.
    """
    start: dict[str, Any] = {}
    answer = bytearray()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif len(answer) <= most_bytes:
            answer.extend(message.get("body", b""))

    await app(scope, receive, send)
    if len(answer) > most_bytes:
        detail = "ask about fewer dumps, such as those of one device and build"
        raise QueryError(f"the answer has more than {most_bytes:,} bytes: {detail}")
    headers = HTTPMessage()
    for name, value in start["headers"]:
        headers[name.decode("latin-1")] = value.decode("latin-1")
    return ServiceAnswer(start["status"], headers, answer)


def _make_receive(body: bytes, agent: Receive) -> Receive:
    """What an application receives: this body, and then what the agent sends: that it has gone."""
    bodies = [body]

    async def receive() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await agent()

    return receive


def _import_protocol() -> None:
    """Import what answers agents.

    Raises:
        Problem: The package of the protocol is not installed.
    """
    try:
        import mcp.server.streamable_http_manager  # noqa: F401

        import tracehouse.cli.agents.server  # noqa: F401
    except ModuleNotFoundError as error:
        detail = "the service has no MCP; install 'tracehouse[mcp]' where it runs"
        raise Problem(501, "no_mcp", detail) from error


class AgentEndpoint:
    """The ASGI application of the protocol, which needs a package that is imported on first use.

    Calls of tools have threads of their own: in those of the other endpoints they would wait for
    these endpoints, and keep them from being answered.
    """

    def __init__(self) -> None:
        """Prepare it without an event loop."""
        self._limit = ConcurrencyLimit(*CALLS)

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Answer one request of an agent.

        Raises:
            Problem: 401 or 403 without a token that may read; 400, 408 or 413 for its body; 429 if
                too many agents wait; 501 without the package.
        """
        request = Request(scope, receive)
        request.app.state.service.access.need(request, Scope.READ, Scope.SQL)
        body = await read_short(request)
        with self._limit.count_caller():
            await self._answer(request, body, send)

    async def _answer(self, request: Request, body: bytes, send: Send) -> None:
        if not isinstance(parse_body(body), dict):
            raise Problem(400, "body", "the body: wanted one message: an object")
        await run_in_threadpool(_import_protocol)  # which takes half a second once
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from tracehouse.cli.agents.server import make_server

        def store_of(_: Any) -> AskedStore:
            store = RemoteStore(OwnConnection(request), note=lambda _: None)
            return AskedStore(lambda: nullcontext(store))

        server = make_server(store_of, has_files=False, threads=self._limit.threads)
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            agent = _make_receive(body, request.receive)
            await manager.handle_request(request.scope, agent, send)
