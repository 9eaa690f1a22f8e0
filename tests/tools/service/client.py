"""A client that costs little: raw requests over kept connections, each answer timed."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import NamedTuple

from tests.tools.service.dumps import Packet

_TAKEN = (HTTPStatus.OK, HTTPStatus.CREATED)
_MOST_BYTES = 64 << 10
_END = b"\r\n\r\n"
_ENDING = b"\r\nconnection: close\r\n"
_LENGTH = b"content-length: "


@dataclass
class Tally:
    """What became of uploads.

    Attributes:
        statuses: Answers by status; 0 where there was none.
        seconds: How long each took that was accepted.
        acknowledged: What is called with each SHA-256 that was.
    """

    acknowledged: Callable[[str], None] = lambda _: None
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Seconds within which such a share was accepted."""
        return sorted(self.seconds)[int(share * (len(self.seconds) - 1))] if self.seconds else 0.0


async def upload(
    port: int,
    packets: Iterator[Packet],
    tally: Tally,
    *,
    connections: int,
    seconds: float,
    rate: float | None = None,
    pause: float = 0.0,
    is_ended: Callable[[], bool] = lambda: False,
) -> None:
    """Upload over so many connections for so long, at some rate or as fast as it goes.

    A connection that was put off waits for the pause.
    """
    end = time.monotonic() + seconds
    pace = _Pace(_turns(rate), pause, lambda: time.monotonic() >= end or is_ended())
    await asyncio.gather(*(_work(port, packets, tally, pace) for _ in range(connections)))


@contextmanager
def uploading(
    port: int,
    packets: Iterator[Packet],
    tally: Tally,
    *,
    connections: int,
    rate: float | None = None,
) -> Iterator[None]:
    """Upload in a thread until the body ends."""
    is_over = threading.Event()
    uploads = upload(
        port, packets, tally, connections=connections, seconds=math.inf, rate=rate,
        is_ended=is_over.is_set,
    )  # fmt: skip
    thread = threading.Thread(target=asyncio.run, args=[uploads])
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _Pace(NamedTuple):
    """When the next upload begins, how long one waits that was put off, and until when."""

    turns: Iterator[float]
    pause: float
    is_over: Callable[[], bool]


def _turns(rate: float | None) -> Iterator[float]:
    start = time.monotonic()
    for number in itertools.count():
        yield start + number / rate if rate else 0.0


async def _work(port: int, packets: Iterator[Packet], tally: Tally, pace: _Pace) -> None:
    """Upload over one connection, and over another where that is closed."""
    while not pace.is_over():
        try:
            with await Connection.open(port) as connection:
                await _converse(connection, packets, tally, pace)
        except OSError:
            tally.statuses[0] += 1
            await asyncio.sleep(0.01)


async def _converse(
    connection: Connection, packets: Iterator[Packet], tally: Tally, pace: _Pace
) -> None:
    while not (pace.is_over() or connection.is_ended):
        turn = next(pace.turns)
        if turn:
            await asyncio.sleep(max(turn - time.monotonic(), 0.0))
        packet = next(packets)
        start = max(turn, 0.0) or time.monotonic()
        statuses = await connection.send(packet)
        tally.statuses.update(statuses)
        for sha256, status in zip(packet.hashes, statuses, strict=True):
            if status in _TAKEN:
                tally.seconds.append(time.monotonic() - start)
                tally.acknowledged(sha256)
        if HTTPStatus.TOO_MANY_REQUESTS in statuses:
            await asyncio.sleep(pace.pause)


class Connection:
    """A connection, over which nothing is copied that is sent.

    Attributes:
        is_ended: Whether the service said that it ends.
    """

    def __init__(self, peer: socket.socket) -> None:
        """Take a connected socket."""
        self._socket, self._read, self.is_ended = peer, bytearray(), False

    @classmethod
    async def open(cls, port: int) -> Connection:
        """A connection to a service; an OSError is passed on."""
        peer = socket.socket()
        try:
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().sock_connect(peer, ("127.0.0.1", port))
        except BaseException:
            peer.close()
            raise
        return cls(peer)

    async def send(self, packet: Packet) -> list[int]:
        """The status of each dump of an upload; a large body is sent when it is asked for."""
        loop = asyncio.get_running_loop()
        if packet.is_asked_for:
            await loop.sock_sendall(self._socket, packet.head)
            status, content = await self._answer()
            if status == HTTPStatus.CONTINUE:
                for piece in packet.body:
                    await loop.sock_sendall(self._socket, piece)
                status, content = await self._answer()
        else:
            await loop.sock_sendall(self._socket, packet.request)
            status, content = await self._answer()
        results = json.loads(content).get("dumps", ()) if content else ()
        return [one["status"] for one in results] or [status] * len(packet.hashes)

    async def _answer(self) -> tuple[int, bytes]:
        """The status and the content of an answer."""
        while (end := self._read.find(_END)) < 0:
            await self._receive()
        end += len(_END)
        start, head = end, bytes(self._read[:end]).lower()
        at = head.find(_LENGTH)
        if at >= 0:
            end += int(head[at + len(_LENGTH) : head.find(b"\r", at)])
        while len(self._read) < end:
            await self._receive()
        content = bytes(self._read[start:end])
        del self._read[:end]
        self.is_ended = _ENDING in head
        return int(head[9:12]), content

    async def _receive(self) -> None:
        piece = await asyncio.get_running_loop().sock_recv(self._socket, _MOST_BYTES)
        if not piece:
            raise ConnectionResetError
        self._read += piece

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
