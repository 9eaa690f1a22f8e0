from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.types import Message

from tracehouse.cli.serve.http.endpoints import receive


def taken(chunks: Sequence[bytes]) -> list[bytes]:
    """The pieces in which a body is given on that comes in chunks."""
    pieces: list[bytes] = []
    coming = iter(chunks)

    async def bring() -> Message:
        chunk = next(coming, b"")
        return {"type": "http.request", "body": chunk, "more_body": bool(chunk)}

    async def run() -> None:
        request = Request({"type": "http", "method": "PUT", "headers": []}, bring)
        with ThreadPoolExecutor(1) as threads:
            await receive(request, pieces.append, threads, most_bytes=1 << 30)

    asyncio.run(run())
    return pieces


def test_a_body_is_not_copied_on_its_way() -> None:
    chunks = [bytes([number]) * 200_000 for number in range(1, 8)]

    pieces = [piece for piece in taken(chunks) if piece]

    assert [id(piece) for piece in pieces] == [id(chunk) for chunk in chunks]


def test_many_small_chunks_are_joined_while_they_wait() -> None:
    chunks = [bytes([number % 255 + 1]) for number in range(1000)]

    pieces = taken(chunks)

    assert b"".join(pieces) == b"".join(chunks)
    assert len(pieces) < 100
