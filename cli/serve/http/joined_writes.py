"""Writes to a connection within one turn of the event loop, sent together."""

from __future__ import annotations

import asyncio
from typing import Any

_MOST_BYTES = 16 << 10  # more than this is sent at once


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
