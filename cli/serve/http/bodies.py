"""Bodies of requests: taken piece by piece, within bounds of size and time, unpacked if need be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from http import HTTPStatus

import pyarrow as pa
from starlette.requests import ClientDisconnect, Request

from cli.serve.http.problems import Problem
from cli.serve.http.threads import run_there
from warehouse.inbox.spools import Spool

ENCODINGS = ("gzip", "zstd")
KEPT_BYTES = 1 << 20  # of a body that is not read, beyond which its connection is closed

IDLE_SECONDS = 15.0  # in which something of a body must come
GRACE_SECONDS = 20.0  # before its rate counts
LEAST_RATE = 2 << 10  # bytes per second
MAX_INFLATION = 250  # bytes of a packed body become one byte of it
INFLATION_FREE_BYTES = 64 << 20  # that any packed body may become
_GIVEN_BYTES = 512 << 10  # that a thread is given at a time
_MOST_CHUNKS = 64  # that are gathered, for each takes memory besides its bytes
_PIECE_BYTES = 256 << 10  # that are unpacked at a time


class TooLargeProblem(Problem):
    """What is sent is larger than may be."""

    def __init__(
        self,
        most_bytes: int,
        remedy: str = "send smaller files, or raise the service's limit",
    ) -> None:
        """Say how large it may be, and what to do."""
        detail = f"more than {most_bytes:,} bytes: {remedy}"
        super().__init__(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", detail)


class PackingProblem(Problem):
    """What is sent cannot be unpacked."""

    def __init__(self, encoding: str, what: str) -> None:
        """Say why."""
        detail = f"the body is not whole {encoding}: {what}; pack and send it again"
        super().__init__(HTTPStatus.BAD_REQUEST, "encoding", detail)


def declared_bytes(request: Request) -> int | None:
    """The size that a request says its body has; None if it does not say it."""
    text = request.headers.get("content-length")
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def encoding_of(request: Request) -> str | None:
    """How a body is packed; None if it is not.

    Raises:
        Problem: In a way that is not known.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return None
    if encoding not in ENCODINGS:
        known = ", ".join(ENCODINGS)
        detail = f"Content-Encoding: found {encoding!r:.100}, wanted {known} or none"
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "encoding", detail)
    return encoding


class _Gathered:
    """Chunks that have come, until they are given on together, none of them copied.

    Attributes:
        byte_count: Their size.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take, self._chunks, self.byte_count = take, list[bytes](), 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self.byte_count += len(chunk)
        if len(self._chunks) > _MOST_CHUNKS:
            self._chunks = [b"".join(self._chunks)]

    def give(self) -> None:
        """Give them on; what takes them may raise what it likes."""
        for chunk in self._chunks:
            self._take(chunk)
        self._chunks, self.byte_count = [], 0


async def receive(
    request: Request, take: Callable[[bytes], None], threads: Executor, *, most_bytes: int
) -> None:
    """Give a request's body to `take`, piece by piece; what is large in one of the threads.

    Raises:
        TooLargeProblem: It is larger than that.
        Problem: It comes too slowly, or ends before its end.
    """
    gathered, count, loop = _Gathered(take), 0, asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.timeout(IDLE_SECONDS) as deadline:
            async for chunk in request.stream():
                gathered.add(chunk)
                count += len(chunk)
                if count > most_bytes:
                    raise TooLargeProblem(most_bytes)
                if gathered.byte_count >= _GIVEN_BYTES:
                    deadline.reschedule(None)
                    await run_there(threads, gathered.give)
                now = loop.time()
                slowest = start + GRACE_SECONDS + count / LEAST_RATE
                deadline.reschedule(min(now + IDLE_SECONDS, slowest))
    except TimeoutError as error:
        detail = f"only {count:,} bytes came in {loop.time() - start:.0f} s: send it faster"
        raise Problem(HTTPStatus.REQUEST_TIMEOUT, "slow", detail) from error
    except ClientDisconnect as error:
        detail = f"the body ended after {count:,} bytes: send it again"
        raise Problem(HTTPStatus.BAD_REQUEST, "cut", detail) from error
    if count > _GIVEN_BYTES:
        await run_there(threads, gathered.give)
    else:
        gathered.give()


async def read_short(
    request: Request, threads: Executor, *, most_bytes: int, reason: str = "too_large"
) -> bytes:
    """All of a body that is never long.

    Raises:
        Problem: It is longer than that, for this reason; it comes too slowly, or is cut.
    """
    body = bytearray()
    try:
        await receive(request, body.extend, threads, most_bytes=most_bytes)
    except TooLargeProblem as error:
        detail = f"the request has more than {most_bytes:,} bytes: send a shorter one"
        raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason, detail) from error
    return bytes(body)


def inflate(
    packed: Spool, encoding: str, take: Callable[[bytes], None], *, most_bytes: int
) -> None:
    """Unpack what has come, and give it to `take`, piece by piece.

    Raises:
        PackingProblem: It is damaged.
        TooLargeProblem: It becomes too much.
        StoreError: The disk is full.
    """
    dense = max(INFLATION_FREE_BYTES, MAX_INFLATION * packed.byte_count)
    if not packed.byte_count:
        raise PackingProblem(encoding, "it is empty")
    reader = pa.BufferReader(pa.py_buffer(packed.data))
    with reader, pa.CompressedInputStream(reader, encoding) as stream:
        count = 0
        while piece := _unpack(stream, encoding):
            count += len(piece)
            if count > most_bytes:
                raise TooLargeProblem(most_bytes)
            if count > dense:
                remedy = f"out of {packed.byte_count:,}; if it is genuine, send it as it is"
                raise TooLargeProblem(dense, remedy)
            take(piece)


def _unpack(stream: pa.CompressedInputStream, encoding: str) -> bytes:
    try:
        piece: bytes = stream.read(_PIECE_BYTES)
    except (OSError, EOFError, pa.ArrowException) as error:
        raise PackingProblem(encoding, str(error)) from error
    return piece
