"""Dumps laid end to end in memory, and the faults found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_PADDING = 64  # past the last dump, so that reading ahead of a check stays in the arena


@dataclass(frozen=True)
class Fault:
    """Why a dump is refused: machine-readable reason, byte offset in the dump, what was wanted."""

    reason: str
    byte_offset: int
    detail: str


class FaultyDumps(Exception):  # noqa: N818 - control flow, never shown
    """Some dumps of the arena are malformed; `faults` maps their index to the first fault."""

    def __init__(self, faults: dict[int, Fault]) -> None:
        """Carry the faults."""
        super().__init__(faults)
        self.faults = faults


class Arena:
    """Buffers laid end to end at 8-byte boundaries, so that file alignment is arena alignment.

    Attributes:
        lo: First byte of each dump.
        hi: Byte after the last of each dump.
        u8, u16, i32, u64: The same memory as arrays of these items.
    """

    def __init__(self, buffers: Sequence[Any]) -> None:
        """Copy the buffers (bytes-like) into one aligned block of memory."""
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        sizes = np.fromiter(map(len, views), np.int64, len(views))
        room = (sizes + 7) & ~7
        ends = np.cumsum(room)
        self.lo: Ints = ends - room
        self.hi: Ints = self.lo + sizes
        pads = [bytes(pad) for pad in (room - sizes).tolist()]
        parts = [part for pair in zip(views, pads, strict=True) for part in pair]
        self.u8 = np.frombuffer(b"".join([*parts, bytes(_PADDING)]), np.uint8)
        self.u16 = self.u8.view(np.uint16)
        self.i32 = self.u8.view(np.int32)
        self.u64 = self.u8.view(np.uint64)
        self._scratch = np.empty(len(self.u16), np.int32)

    def representatives(self, keys: Ints) -> Ints:
        """For each key (below the arena's size in u16 items), the index of one row that has it."""
        self._scratch[keys] = np.arange(len(keys), dtype=np.int32)
        return self._scratch[keys].astype(np.int64)
