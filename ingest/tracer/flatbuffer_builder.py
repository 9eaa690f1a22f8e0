"""flatbuffers' builder with packed tables, vectors of offsets, and file sizes in multiples of 8.

The builder writes from the end of a file to its start. So the targets of a table are written before
the table, and a "place" is a distance from the end of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

import flatbuffers
import numpy as np
from flatbuffers.builder import BuilderSizeError

from tracehouse.ingest.errors import UnwritableError


class FlatBufferBuilder(flatbuffers.Builder):  # type: ignore[misc]  # it has no types
    """A builder whose file has a length that is a multiple of 8, as the runtime's have."""

    head: int  # present start of the file in `Bytes`

    def __init__(self) -> None:
        super().__init__()
        self.Prep(8, 0)

    def aligned_offset(self) -> int:
        """The place after which `place` would put its bytes."""
        return (len(self.Bytes) - self.head + 7) & -8

    def place(self, data: bytes) -> int:
        """Write bytes whose length is a multiple of 8, aligned to 8; returns their place."""
        end = self.head
        start = end - len(data)
        if start < 8 or (len(self.Bytes) - end) % 8:  # Prep is slow and rarely needed
            self.Prep(8, len(data))
            end = self.head
            start = end - len(data)
        self.Bytes[start:end] = data
        self.head = start
        return len(self.Bytes) - start

    def place_offsets(self, targets: Sequence[int]) -> int:
        """Write a vector of offsets to places; returns its place."""
        self.Prep(4, 0)
        items = self.Offset() + 4 * np.arange(len(targets), 0, -1)
        return int(self.CreateNumpyVector((items - np.array(targets, np.int64)).astype("<u4")))

    def place_reference(self, slot: int, target: int) -> int:
        """Write a table with one field that refers to a place; returns the table's place."""
        self.StartObject(slot + 1)
        self.PrependUOffsetTRelativeSlot(slot, target, 0)
        return int(self.EndObject())

    def GrowByteBuffer(self) -> None:  # noqa: N802  # the base class's name
        """Enlarge the buffer.

        Raises:
            UnwritableError: The file would be too large for FlatBuffers.
        """
        try:
            super().GrowByteBuffer()
        except BuilderSizeError as error:
            raise UnwritableError("dump: over 2 GiB; call finish() earlier") from error


@lru_cache(maxsize=4096)
def pack_text(text: str) -> bytes:
    """A string for `FlatBufferBuilder.place`; escaped surrogates become bytes that are not UTF-8.

    Raises:
        UnwritableError: The text has other surrogates.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UnwritableError(f"text: {text!a}, wanted Unicode") from error
    return _pad(struct.pack("<I", len(data)) + data + b"\0")


def pack_bytes(data: bytes) -> bytes:
    """A vector of bytes for `FlatBufferBuilder.place`."""
    return _pad(struct.pack("<I", len(data)) + data)


def pack_vtable(table_bytes: int, fields: Sequence[int]) -> bytes:
    """A vtable for `FlatBufferBuilder.place`, from a table's size and its fields' offsets."""
    words = (4 + 2 * len(fields), table_bytes, *fields)
    return _pad(struct.pack(f"<{len(words)}H", *words))


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)
