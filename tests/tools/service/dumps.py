"""Dumps that differ, made so fast that making them is no part of what is measured."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import NamedTuple

from tests.support.etdump_builder import build_etdump
from tests.support.stores import MANIFEST

SMALL_EVENTS = 422  # of a dump of about 35 kB
_MARK = 0x0123_4567_89AB
_TICKS = struct.Struct("<Q")


class Packet(NamedTuple):
    """A dump to upload: its SHA-256, and the whole request."""

    sha256: str
    request: bytes


class DumpMaker:
    """Makes dumps of one shape, each of other ticks.

    Attributes:
        byte_count: Size of a dump.
    """

    def __init__(self, events: int = SMALL_EVENTS, *, runs: int = 1) -> None:
        """Make the first, with so many events in each of its runs."""
        listed = [
            {
                "name": f"native_call_quantized_convolution_{i % 40:02}",
                "instruction_id": i,
                "start_time": 10**9 + 1000 * i,
                "end_time": 10**9 + 1000 * i + 500 + i % 97,
            }
            for i in range(events)
        ]
        first = [{**listed[0], "start_time": _MARK, "end_time": 10**12}, *listed[1:]]
        run_data = [
            {"name": "Execute", "events": [{"profile_event": event} for event in each]}
            for each in (first, *[listed] * (runs - 1))
        ]
        self._dump = bytearray(build_etdump({"version": 0, "run_data": run_data}))
        self._at = self._dump.index(_TICKS.pack(_MARK))
        self.byte_count = len(self._dump)

    def dump(self, number: int) -> bytes:
        """The dump of a number."""
        _TICKS.pack_into(self._dump, self._at, 10**9 + number)
        return bytes(self._dump)

    def packet(self, number: int, *, kept: bool = True) -> Packet:
        """A request that uploads it; on a connection that is kept, or not."""
        dump = self.dump(number)
        sha256 = hashlib.sha256(dump).hexdigest()
        head = (
            f"PUT /v1/dumps/{sha256} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Connection: {'keep-alive' if kept else 'close'}\r\n"
            f"Tracehouse-Manifest: {json.dumps(MANIFEST)}\r\nContent-Length: {len(dump)}\r\n\r\n"
        )
        return Packet(sha256, head.encode() + dump)
