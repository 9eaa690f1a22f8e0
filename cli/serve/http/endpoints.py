"""Endpoints: routes that check a token's scope, their OpenAPI entries, and bodies of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.http.connections import HEAD_BYTES
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import TABLE_FORMS
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.ingest.sources.private_bytes import most_inflated
from tracehouse.ingest.strict_json import parse_json
from tracehouse.warehouse.inbox.spools import Spool

ENCODINGS = ("gzip", "zstd")
SHORT_BYTES = HEAD_BYTES  # longest body but that of an upload
KEPT_BYTES = 1 << 20  # a connection is closed if more than this of a body stays unread

IDLE_SECONDS = 15.0  # longest pause between two chunks
GRACE_SECONDS = 20.0  # time before the rate counts
LEAST_RATE = 2 << 10  # bytes per second
SMALLER_FILES = "send smaller files, or raise the service's limit"
_BATCH_BYTES = 512 << 10  # handed to a thread at a time
_MOST_CHUNKS = 64  # waiting chunks; each takes memory besides its bytes
_PIECE_BYTES = 256 << 10  # unpacked at a time

Settle = Callable[[], Awaitable[None]]  # completes what was written so far

Schema = Mapping[str, Any]
Content = Mapping[str, Schema]  # by media type
Handler = Callable[[Request], Awaitable[Response]]
Guard = Callable[[Request], AbstractAsyncContextManager[None]]
TEXT: Schema = {"type": "string"}
BYTES: Schema = {"type": "string", "format": "binary"}
OBJECT: Schema = {"type": "object"}
ROWS: Schema = {"type": "array", "items": OBJECT}
JSON_OBJECT: Content = {"application/json": OBJECT}
QUERY_PATH = "/v1/queries/{name}"  # an operation of the document for each canned query
READ_PROBLEMS = (400, 404, 406, 429, 503, 504, 507)


class TooLargeProblem(Problem):
    """A body or a file is above its limit."""

    def __init__(
        self, most_bytes: int, remedy: str = SMALLER_FILES, *, reason: str = "too_large"
    ) -> None:
        super().__init__(413, reason, f"more than {most_bytes:,} bytes: {remedy}")


class PackingProblem(Problem):
    """A body cannot be unpacked."""

    def __init__(self, encoding: str, problem: str) -> None:
        detail = f"the body is not complete {encoding}: {problem}; pack and send it again"
        super().__init__(400, "encoding", detail)


def declared_bytes(request: Request) -> int | None:
    """The Content-Length of a request; None without one."""
    text = request.headers.get("content-length")
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def media_type_of(request: Request) -> str:
    """The media type of a body, in lower case and without parameters; empty if it is unknown."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def encoding_of(request: Request) -> str | None:
    """The encoding of a packed body; None if the body is not packed.

    Raises:
        Problem: The encoding is unknown.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return None
    if encoding not in ENCODINGS:
        detail = f"Content-Encoding: found {encoding!r:.100}, wanted {', '.join(ENCODINGS)} or none"
        raise Problem(415, "encoding", detail)
    return encoding


class _Batch:
    """Chunks that wait to be written together, without a copy."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write, self._chunks, self.byte_count = write, list[bytes](), 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self.byte_count += len(chunk)
        if len(self._chunks) > _MOST_CHUNKS:
            self._chunks = [b"".join(self._chunks)]

    def flush(self) -> None:
        for chunk in self._chunks:
            self._write(chunk)
        self._chunks, self.byte_count = [], 0


async def receive(
    request: Request,
    write: Callable[[bytes], None],
    threads: Executor,
    *,
    most_bytes: int,
    refuse: Callable[[int], TooLargeProblem] = TooLargeProblem,
    settle: Settle | None = None,
) -> None:
    """Write a request's body piece by piece; large batches are written in one of the threads.

    `settle` is awaited after each of these, before more of the body is received.

    Raises:
        TooLargeProblem: The body is too large; `refuse` makes the problem of the limit.
        Problem: The body is too slow, or cut.
    """
    batch, count, loop = _Batch(write), 0, asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.timeout(IDLE_SECONDS) as deadline:
            async for chunk in request.stream():
                batch.add(chunk)
                count += len(chunk)
                if count > most_bytes:
                    raise refuse(most_bytes)
                if batch.byte_count >= _BATCH_BYTES:
                    deadline.reschedule(None)
                    await run_to_end(threads, batch.flush)
                    if settle:
                        await settle()
                slowest = start + GRACE_SECONDS + count / LEAST_RATE
                deadline.reschedule(min(loop.time() + IDLE_SECONDS, slowest))
    except TimeoutError as error:
        detail = f"only {count:,} bytes came in {loop.time() - start:.0f} s: send the body faster"
        raise Problem(408, "slow", detail, headers={"Connection": "close"}) from error
    except ClientDisconnect as error:
        detail = f"the body ended after {count:,} bytes: send it again"
        raise Problem(400, "cut", detail) from error
    if count > _BATCH_BYTES:
        await run_to_end(threads, batch.flush)
    else:
        batch.flush()


async def read_short(
    request: Request, *, most_bytes: int = SHORT_BYTES, reason: str = "too_large"
) -> bytes:
    """The body of a request that is no upload; every endpoint reads it with this function.

    A Problem of `receive` is passed on.
    """
    refuse = partial(TooLargeProblem, remedy="send a shorter request", reason=reason)
    threads, body = request.app.state.service.spooling, bytearray()
    await receive(request, body.extend, threads, most_bytes=most_bytes, refuse=refuse)
    return bytes(body)


def parse_body(body: bytes) -> object:
    """The value of a short body of JSON.

    Raises:
        Problem: 400; it is malformed, or an object has a key twice.
    """
    try:
        return parse_json(body)
    except RecursionError as error:
        raise Problem(400, "body", "the body is too deep") from error
    except ValueError as error:
        raise Problem(400, "body", f"the body {error}") from error


def inflate(packed: Spool, encoding: str, *, most_bytes: int) -> Generator[bytes]:
    """A body, unpacked piece by piece.

    Raises:
        PackingProblem: The body is damaged.
        TooLargeProblem: The unpacked body is too large.
    """
    if not packed.byte_count:
        raise PackingProblem(encoding, "it is empty")
    densest, count = most_inflated(packed.byte_count), 0
    reader = pa.BufferReader(pa.py_buffer(packed.data))
    with reader, pa.CompressedInputStream(reader, encoding) as stream:
        while piece := _unpack(stream, encoding):
            count += len(piece)
            if count > most_bytes:
                raise TooLargeProblem(most_bytes)
            if count > densest:
                remedy = f"out of {packed.byte_count:,}; if it is genuine, send it as it is"
                raise TooLargeProblem(densest, remedy)
            yield piece


def _unpack(stream: pa.CompressedInputStream, encoding: str) -> bytes:
    try:
        piece: bytes = stream.read(_PIECE_BYTES)
    except (OSError, EOFError, pa.ArrowException) as error:
        raise PackingProblem(encoding, str(error)) from error
    return piece


class Input(NamedTuple):
    """A parameter of an operation: its name, where it is, its schema and its meaning."""

    name: str
    place: str
    schema: Schema
    doc: str
    is_required: bool = False


@dataclass(frozen=True)
class Operation:
    """An endpoint's route, access and description in the OpenAPI document; decorates its handler.

    Attributes:
        path: Path of the route.
        summary: What the operation does, in a sentence.
        answers: Content of the answers by status.
        inputs: Parameters.
        method: HTTP method, in lower case.
        scopes: A token needs one of them; empty if the endpoint is open.
        body: Content of the request's body; None without one.
        problems: Statuses of problems, besides those of access.
        guard: Context in which access is checked and the handler runs.
    """

    path: str
    summary: str
    answers: Mapping[int, Content]
    inputs: tuple[Input, ...] = ()
    method: str = "get"
    scopes: tuple[Scope, ...] = (Scope.READ,)
    body: Content | None = None
    problems: tuple[int, ...] = ()
    guard: Guard = lambda _: nullcontext()

    def __call__(self, handler: Handler) -> Endpoint:
        """Make a handler the endpoint of this operation."""
        return Endpoint(self, handler)


class Endpoint(Route):
    """A route whose handler runs only for requests with a token of the needed scope.

    The handler finds the client in `request.state.bearer`.
    """

    def __init__(self, operation: Operation, handler: Handler) -> None:
        """Make a route of an operation and its handler."""
        self.operation = operation

        async def answer(request: Request) -> Response:
            async with operation.guard(request):
                if operation.scopes:
                    request.app.state.service.access.need(request, *operation.scopes)
                return await handler(request)

        super().__init__(operation.path, answer, methods=[operation.method.upper()])


def table_content(rows: Schema = ROWS) -> Content:
    """The content of an answer that is a table, in each of its forms."""
    return {**content_of(TABLE_FORMS), "application/json": rows}


def content_of(media_types: Mapping[Any, str]) -> Content:
    """The content of an answer that has one of these media types."""
    types = [media_type.partition(";")[0] for media_type in media_types.values()]
    return {one: BYTES if "/vnd.apache" in one else TEXT for one in types}


def format_input(forms: Mapping[Any, str]) -> Input:
    """The parameter `format` of an endpoint that answers in several forms."""
    return Input("format", "query", {"enum": list(forms)}, "Form of the answer, whatever Accept.")


TABLE_FORMAT = format_input(TABLE_FORMS)
PAGING = (
    Input("limit", "query", {"type": "integer", "minimum": 1}, "Rows of a page."),
    Input("offset", "query", {"type": "integer", "minimum": 0}, "Rows before it."),
)
