"""Profiler blobs, read one field at a time with `struct`: the oracle of the reader."""

from __future__ import annotations

from typing import Any

from tests.support.blob_builder import ALLOCATION, ALLOCATOR, EVENT, HEADER
from tests.support.plain_rows import in_order

Row = dict[str, Any]


class BlobError(Exception):
    """The blob is malformed: reason and byte offset."""


def read_plain(data: bytes) -> list[Row]:
    """Blocks with name, events, allocators and allocations, as in `build_profiler_blob`."""
    blocks = []
    at = 0
    while at < len(data):
        if len(data) - at < HEADER.size:
            raise BlobError("truncated", len(data))
        name, version, *numbers = HEADER.unpack_from(data, at)
        if version != 1:
            raise BlobError("bad_version", at + 32)
        block = {"name": cut(name)}
        place = at + HEADER.size
        for i, (key, layout) in enumerate(
            [("events", EVENT), ("allocators", ALLOCATOR), ("allocations", ALLOCATION)]
        ):
            room, used = numbers[2 * i], numbers[2 * i + 1]
            if used > room:
                raise BlobError("count_over_capacity", at + 40 + 8 * i)
            if used and place + used * layout.size > len(data):
                raise BlobError("truncated", len(data))
            rows = [layout.unpack_from(data, place + j * layout.size) for j in range(used)]
            block[key] = [tuple(map(cut, row)) for row in rows]
            place += room * layout.size
        blocks.append(block)
        at = place
    return blocks


def cut(value: Any) -> Any:
    """A name up to its first NUL; another value unchanged."""
    return value.split(b"\0")[0] if isinstance(value, bytes) else value


def event_rows(blocks: list[Row]) -> list[Row]:
    """The rows of the table of events, with clock readings and signatures in full, unordered."""
    return sorted(
        (
            {
                "run_index": run,
                "name": text(name),
                "instruction_id": None if instruction == 2**32 - 1 else signed(instruction),
                "chain_index": chain,
                "start": start,
                "end": end,
                "flags": flag,
            }
            for run, block in enumerate(blocks)
            for (name, chain, instruction, *_), (start, end, flag) in zip(
                block["events"],
                in_order([(*event[-2:], flags(*event[-2:])) for event in block["events"]]),
                strict=True,
            )
        ),
        key=repr,
    )


def allocation_rows(blocks: list[Row]) -> list[Row]:
    """The table of allocations, in order."""
    rows = []
    known: dict[int, bytes] = {}
    for run, block in enumerate(blocks):
        known |= {id_: name for name, id_ in block["allocators"]}
        for number, (id_, size) in enumerate(block["allocations"]):
            rows.append(
                {
                    "dump_index": 0,
                    "run_index": run,
                    "event_index": len(block["events"]) + number,
                    "allocator_id": signed((id_ + 1) % 2**32),
                    "allocator": text(known[id_]) if id_ in known else None,
                    "bytes": size,
                }
            )
    return rows


def flags(start: int, end: int) -> int:
    """The flags of clocks.py; an end of 0 means that the event never ended."""
    if end < start:
        return 1 if end and start < 2**32 else 2
    return 4 if end - start >= 2**63 else 0


def signed(value: int) -> int:
    """An unsigned 32-bit number as a signed one."""
    return value - 2**32 if value >= 2**31 else value


def text(raw: bytes) -> str:
    """The readable form of a name."""
    return raw.decode(errors="backslashreplace")
