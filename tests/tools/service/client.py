"""A client that costs little: raw requests over kept connections, each answer timed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.tools.service.dumps import Packet

_END = b"\r\n\r\n"
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
    is_ended: Callable[[], bool] = lambda: False,
) -> None:
    """Upload over so many connections for so long, at some rate or as fast as it goes."""
    start = time.monotonic()
    turns = _turns(start, rate)

    def is_over() -> bool:
        return time.monotonic() >= start + seconds or is_ended()

    workers = (_work(port, packets, tally, turns, is_over) for _ in range(connections))
    await asyncio.gather(*workers)


def _turns(start: float, rate: float | None) -> Iterator[float]:
    """When the next upload begins."""
    number = 0
    while True:
        yield start + number / rate if rate else 0.0
        number += 1


async def _work(
    port: int,
    packets: Iterator[Packet],
    tally: Tally,
    turns: Iterator[float],
    is_over: Callable[[], bool],
) -> None:
    """Upload over one connection, and over another where that is closed."""
    while not is_over():
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            tally.statuses[0] += 1
            await asyncio.sleep(0.01)
            continue
        try:
            await _converse(reader, writer, packets, tally, turns, is_over)
        except (OSError, asyncio.IncompleteReadError):
            tally.statuses[0] += 1
        finally:
            writer.close()


async def _converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    packets: Iterator[Packet],
    tally: Tally,
    turns: Iterator[float],
    is_over: Callable[[], bool],
) -> None:
    while not is_over():
        turn = next(turns)
        if turn:
            await asyncio.sleep(max(turn - time.monotonic(), 0.0))
        packet = next(packets)
        start = max(turn, 0.0) or time.monotonic()
        writer.write(packet.request)
        status = await _answer(reader)
        tally.statuses[status] += 1
        if status in (200, 201):
            tally.seconds.append(time.monotonic() - start)
            tally.acknowledged(packet.sha256)


async def _answer(reader: asyncio.StreamReader) -> int:
    """The status of an answer, which is read to its end."""
    head = (await reader.readuntil(_END)).lower()
    at = head.find(_LENGTH)
    await reader.readexactly(int(head[at + len(_LENGTH) : head.find(b"\r", at)]))
    return int(head[9:12])
