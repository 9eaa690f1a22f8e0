"""Dumps that differ, made so fast that making them is no part of what is measured."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any, NamedTuple

from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import run, timed
from tests.support.stores import MANIFEST

SMALL_EVENTS = 422  # of a dump of about 35 kB
_UNASKED_BYTES = 1 << 20  # of a body that is sent at once
_EXPECT = "Expect: 100-continue\r\n"
_MARK = 0x0123_4567_89AB
_TICKS = struct.Struct("<Q")


class Packet(NamedTuple):
    """A dump to upload, or several in one request.

    Attributes:
        hashes: The SHA-256 of each.
        head: The request's head.
        body: Its body, in pieces.
        is_asked_for: Whether the body is not sent before the service asks for it.
    """

    hashes: tuple[str, ...]
    head: bytes
    body: tuple[Any, ...]
    is_asked_for: bool

    @property
    def request(self) -> bytes:
        """All of it."""
        return b"".join((self.head, *self.body))


class DumpMaker:
    """Makes dumps of one shape, each of other ticks.

    They differ near their ends, so that what is before that is hashed once.

    Attributes:
        byte_count: Size of a dump.
    """

    def __init__(self, events: int = SMALL_EVENTS, *, runs: int = 1) -> None:
        """Make the first, with so many events in each of its runs."""
        name = "native_call_quantized_convolution_{:02}"
        starts = [10**9 + 1000 * i for i in range(events)]
        listed = [
            timed(name.format(i % 40), start, start + 500 + i % 97, instruction_id=i)
            for i, start in enumerate(starts)
        ]
        marked = timed(name.format(0), _MARK, 10**12, instruction_id=0)
        run_data = [run(marked, *listed[1:]), *[run(*listed)] * (runs - 1)]
        dump = build_etdump({"version": 0, "run_data": run_data})
        at = dump.index(_TICKS.pack(_MARK))
        self._start, self._end = memoryview(dump)[:at], dump[at + _TICKS.size :]
        self._digest = hashlib.sha256(self._start)
        self.byte_count = len(dump)

    def dump(self, number: int) -> bytes:
        """The dump of a number."""
        return b"".join(self._pieces(number))

    def packet(self, *numbers: int, kept: bool = True) -> Packet:
        """A request that uploads these dumps, on a connection that is kept or not."""
        hashes, pieces, manifest = list[str](), list[Any](), json.dumps(MANIFEST).encode()
        for number in numbers:
            body = self._pieces(number)
            hashes.append(self._hash(body))
            sizes = {"manifest": len(manifest), "dump": self.byte_count, "sha256": hashes[-1]}
            pieces += [json.dumps(sizes).encode() + b"\n" + manifest, *body]
        byte_count = sum(map(len, pieces))
        is_asked_for = byte_count > _UNASKED_BYTES
        head = (
            "POST /v1/dumps:batch HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Connection: {'keep-alive' if kept else 'close'}\r\n"
            f"Content-Length: {byte_count}\r\n"
            f"{_EXPECT if is_asked_for else ''}\r\n"
        )
        return Packet(tuple(hashes), head.encode(), tuple(pieces), is_asked_for)

    def _hash(self, pieces: tuple[memoryview, bytes]) -> str:
        digest = self._digest.copy()
        digest.update(pieces[1])
        return digest.hexdigest()

    def _pieces(self, number: int) -> tuple[memoryview, bytes]:
        return self._start, _TICKS.pack(10**9 + number) + self._end
