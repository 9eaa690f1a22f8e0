"""Profiler blobs from plain values, and strategies for their content.

A block is ``{"name", "events", "allocators", "allocations", "room", "version"}``, all but the name
optional: events are (name, chain, instruction, start, end), allocators (name, id), allocations
(allocator id, bytes), and room is the unused capacity of each of the three arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

HEADER = struct.Struct("<32s7I4x")
EVENT = struct.Struct("<32siIQQ")
ALLOCATOR = struct.Struct("<32sQ")
ALLOCATION = struct.Struct("<2I")

Block = Mapping[str, Any]


def build_profiler_blob(*blocks: Block) -> bytes:
    """The blob of these blocks."""
    return b"".join(map(_build_block, blocks))


def block(name: str | bytes, *events: tuple[str | bytes, int, int], **fields: Any) -> Block:
    """A block of events (name, start, end) outside instructions."""
    timed = [(event, -1, 0, start, end) for event, start, end in events]
    return {"name": name, "events": timed, **fields}


def _build_block(block: Block) -> bytes:
    room = block.get("room", (1, 1, 1))
    arrays = [
        (EVENT, [(_raw(event[0]), *event[1:]) for event in block.get("events", ())]),
        (ALLOCATOR, [(_raw(name), id_) for name, id_ in block.get("allocators", ())]),
        (ALLOCATION, list(block.get("allocations", ()))),
    ]
    counts = [
        number
        for (_, rows), spare in zip(arrays, room, strict=True)
        for number in (len(rows) + spare, len(rows))
    ]
    head = HEADER.pack(_raw(block["name"]), block.get("version", 1), *counts)
    return head + b"".join(
        _build_array(layout, rows, spare)
        for (layout, rows), spare in zip(arrays, room, strict=True)
    )


def _build_array(layout: struct.Struct, rows: Iterable[Sequence[Any]], spare: int) -> bytes:
    return b"".join(layout.pack(*row) for row in rows) + b"\xee" * layout.size * spare


def _raw(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


NAME = st.sampled_from(["", "Method::execute", "native_call_a", b"abc\0xyz", b"\xff", "é" * 16])
ANY_NAME = NAME | st.binary(max_size=32)
UINT32 = st.sampled_from([0, 1, 2**31, 2**32 - 1]) | st.integers(0, 2**32 - 1)
INT32 = st.sampled_from([0, -1]) | st.integers(-(2**31), 2**31 - 1)
UINT64 = st.sampled_from([0, 5, 2**32 - 1, 2**32, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
BLOCKS = st.lists(
    st.fixed_dictionaries(
        {
            "name": ANY_NAME,
            "events": st.lists(st.tuples(ANY_NAME, INT32, UINT32, UINT64, UINT64), max_size=4),
            "allocators": st.lists(st.tuples(ANY_NAME, UINT32 | UINT64), max_size=2),
            "allocations": st.lists(st.tuples(UINT32, UINT32), max_size=3),
            "room": st.tuples(*[st.integers(0, 2)] * 3),
        }
    ),
    max_size=4,
)
