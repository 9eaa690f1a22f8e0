"""Dumps laid end to end in memory, and the faults found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CLOSE = 8  # range of keys per key up to which a lookup table is cheaper than sorting


@dataclass(frozen=True)
class Fault:
    """Why a dump is refused: machine-readable reason, byte offset in the dump, what was wanted."""

    reason: str
    byte_offset: int
    detail: str


class FaultyDumps(Exception):  # noqa: N818 - control flow, never shown
    """Some dumps of the arena are malformed; `faults` maps their index to the first fault."""

    def __init__(self, faults: dict[int, Fault]) -> None:
        super().__init__(faults)
        self.faults = faults


class Arena:
    """Dumps as one block of memory, each at an 8-byte boundary: file alignment is arena alignment.

    Attributes:
        lo: First byte of each dump.
        hi: Byte after the last of each dump.
        u8, u16, i32, u64: The same memory as arrays of these types, without an incomplete item
            at the end.
        vtables: Contents of verified vtables, by byte and slot widths (see flatbuffer.py).
    """

    def __init__(self, buffers: Sequence[Any]) -> None:
        """Copy the bytes-like buffers into one block; a single buffer is not copied."""
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        sizes = np.fromiter(map(len, views), np.int64, len(views))
        room = (sizes + 7) & ~7
        ends = np.cumsum(room)
        self.lo: Ints = ends - room
        self.hi: Ints = self.lo + sizes
        if len(views) == 1:
            block: Any = views[0]
        else:
            pads = [bytes(pad) for pad in (room - sizes).tolist()]
            block = b"".join([part for pair in zip(views, pads, strict=True) for part in pair])
        self.u8 = np.frombuffer(block, np.uint8)
        self.u16 = self.u8[: len(self.u8) & ~1].view(np.uint16)
        self.i32 = self.u8[: len(self.u8) & ~3].view(np.int32)
        self.u64 = self.u8[: len(self.u8) & ~7].view(np.uint64)
        self.vtables: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}


def representatives(keys: Ints) -> Ints:
    """For each key the index of one row with that key, the same row for equal keys."""
    if not len(keys):
        return keys
    lowest = keys.min()
    room = int(keys.max() - lowest) + 1
    if room > _CLOSE * len(keys):
        _, chosen, member = np.unique(keys, return_index=True, return_inverse=True)
        return chosen[member]
    scratch = np.empty(room, np.int64)
    scratch[keys - lowest] = np.arange(len(keys))
    found: Ints = scratch[keys - lowest]
    return found
