"""Profiler blobs (ET_PROF_VER 1): bytes -> blocks -> the record of decoded dumps. Pure.

A blob is the profiler's buffer: consecutive blocks, each with a header and three arrays whose first
entries are used and the others are spare (docs/profiler-blobs.md). Everything is little-endian and
8-aligned relative to the start of the blob. The last block may end after its last used entry.

A block becomes a run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.etdump.arena import (
    BLOB_TOO_LARGE,
    MOST_BLOB_BLOCKS,
    MOST_BLOB_ENTRIES,
    MOST_PART_TEXT,
    MOST_SIGNATURES,
    TOO_MANY_SIGNATURES,
    Arena,
    Fault,
    FaultyDumps,
    Ints,
)
from tracehouse.ingest.etdump.columns import (
    NO_DEBUGS,
    AllocationEvents,
    Allocators,
    DumpHeaders,
    Texts,
    find_distinct,
)
from tracehouse.ingest.etdump.dumps import NO_METADATA, Dumps, Extras, Ledger, StoredRuns
from tracehouse.ingest.etdump.layouts import Layout, SignatureBook
from tracehouse.ingest.etdump.schema import IDENTIFIER
from tracehouse.ingest.signatures import LoggedEvent

VERSION = 1

Rows = NDArray[np.void]

HEADER = np.dtype(
    {
        "names": [
            "name", "version", "max_events", "events", "max_allocators", "allocators",
            "max_allocations", "allocations",
        ],
        "formats": ["V32", *["<u4"] * 7],
        "itemsize": 64,
    }
)  # fmt: skip
EVENT = np.dtype(
    [
        ("name", "V32"), ("chain", "<i4"), ("instruction", "<u4"), ("start", "<u8"), ("end", "<u8"),
    ]
)  # fmt: skip
ALLOCATOR = np.dtype([("name", "V32"), ("id", "<u8")])
ALLOCATION = np.dtype([("allocator", "<u4"), ("bytes", "<u4")])

_ARRAYS = {"events": EVENT, "allocators": ALLOCATOR, "allocations": ALLOCATION}
_NUMBERS = struct.Struct("<7I")
_IDENTIFIERS = struct.Struct("<4x2I")  # positions of an ETDump's identifier, bare or prefixed
_VERSION_AT = 32
_WORD_BYTES = 8  # all parts of a block are whole words
_MOST_ENTRIES = 1 << 24  # reserved by a runtime

_WORDS = EVENT.itemsize // 8
_IDENTITY_WORDS = 5  # name, chain and instruction: all but the two times
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Blocks:
    """The blocks of a blob, in file order.

    Attributes:
        data: The blob.
        start: First byte of each block.
        header: One row of HEADER per block.
    """

    data: memoryview
    start: Ints
    header: Rows

    def __len__(self) -> int:
        return len(self.start)

    @property
    def names(self) -> list[bytes]:
        """Name of each block."""
        return [cut_name(name) for name in self.header["name"].tolist()]

    def counts(self, array: str) -> Ints:
        """Used entries of the array (events, allocators or allocations), per block."""
        return self.header[array].astype(np.int64)

    def rows(self, array: str, blocks: slice = slice(None)) -> Rows:
        """The used entries of the array in these blocks, block after block."""
        dtype = _ARRAYS[array]
        begin = self.start + HEADER.itemsize
        for before in _ARRAYS:
            if before == array:
                break
            begin = begin + self.counts(f"max_{before}") * _ARRAYS[before].itemsize
        end = begin + self.counts(array) * dtype.itemsize
        places = zip(begin[blocks].tolist(), end[blocks].tolist(), strict=True)
        return np.frombuffer(b"".join([self.data[at:to] for at, to in places]), dtype)


def is_profiler_blob(data: Any) -> bool:
    """Whether the bytes are a blob: a plausible first header and no ETDump's identifier."""
    head = bytes(memoryview(data).cast("B")[: HEADER.itemsize]).ljust(HEADER.itemsize, b"\0")
    if IDENTIFIER in _IDENTIFIERS.unpack_from(head):
        return False
    version, *numbers = _NUMBERS.unpack_from(head, _VERSION_AT)
    pairs = zip(numbers[1::2], numbers[::2], strict=True)
    return version == VERSION and all(used <= room <= _MOST_ENTRIES for used, room in pairs)


def decode_profiler_blob(data: Any, source: str = "blob") -> Blocks:
    """The verified blocks of a blob; none of an empty blob.

    Raises:
        DumpError: The blob is malformed.
    """
    try:
        return find_blocks(data)
    except FaultyDumps as faulty:
        raise DumpError(source, **vars(faulty.faults[0])) from faulty


def find_blocks(data: Any) -> Blocks:
    """The verified blocks of a blob, which counts as dump 0.

    Raises:
        FaultyDumps: The blob is malformed, or exceeds a limit.
    """
    view = memoryview(data).cast("B")
    start = np.fromiter(islice(_walk(view), MOST_BLOB_BLOCKS + 1), np.int64)
    if len(start) > MOST_BLOB_BLOCKS:
        raise FaultyDumps({0: BLOB_TOO_LARGE})
    words = np.frombuffer(view[: len(view) // _WORD_BYTES * _WORD_BYTES], "<u8")
    heads = words[start[:, None] // _WORD_BYTES + np.arange(HEADER.itemsize // _WORD_BYTES)]
    blocks = Blocks(view, start, heads.view(HEADER).ravel())
    entries = int((blocks.counts("allocators") + blocks.counts("allocations")).sum())
    most_events = int(blocks.counts("events").max(initial=0))
    if max(entries, most_events) > MOST_BLOB_ENTRIES:
        raise FaultyDumps({0: BLOB_TOO_LARGE})
    return blocks


def find_allocators(blocks: Blocks) -> Ints:
    """For each allocation the row of its allocator, -1 if unknown.

    An id refers to the allocator that the block itself registers, or else to the one of the latest
    earlier block that does: the runtime forgets names with each block, but keeps the ids.
    """
    allocators, allocations = blocks.rows("allocators"), blocks.rows("allocations")
    block = np.arange(len(blocks))
    ids = np.concatenate([allocators["id"], allocations["allocator"].astype(np.uint64)])
    _, code = np.unique(ids, return_inverse=True)
    key = code * len(blocks)
    owner_key = key[: len(allocators)] + np.repeat(block, blocks.counts("allocators"))
    user_key = key[len(allocators) :] + np.repeat(block, blocks.counts("allocations"))
    order = np.argsort(owner_key, kind="stable")
    place = np.searchsorted(owner_key[order], user_key, side="right") - 1
    row = np.append(order, -1)[place]
    known = (place >= 0) & (np.append(code[: len(allocators)], -1)[row] == code[len(allocators) :])
    return np.where(known, row, -1)


def cut_name(raw: bytes) -> bytes:
    """A name without the remains of an earlier, longer name after the first NUL."""
    return raw.partition(b"\0")[0]


def _walk(view: memoryview) -> Iterator[int]:
    """First byte of each block.

    Raises:
        FaultyDumps: A block is followed by something else.
    """
    at = 0
    while at < len(view):
        left = len(view) - at
        if left < HEADER.itemsize:
            fault = Fault(
                "truncated", len(view),
                f"{left} bytes are left, wanted a block's header ({HEADER.itemsize} bytes) "
                "or nothing: the file was truncated or appended to, copy it again",
            )  # fmt: skip
            raise FaultyDumps({0: fault})
        yield at
        at = _end_of_block(view, at)


def _end_of_block(view: memoryview, at: int) -> int:
    """Start of the next block.

    Raises:
        FaultyDumps: The version is unknown, or a used entry is out of bounds.
    """
    version, *numbers = _NUMBERS.unpack_from(view, at + _VERSION_AT)
    if version != VERSION:
        detail = f"a block of version {version}, wanted {VERSION}: the file may be no profiler blob"
        raise FaultyDumps({0: Fault("bad_version", at + _VERSION_AT, detail)})
    end = at + HEADER.itemsize
    for i, (array, dtype) in enumerate(_ARRAYS.items()):
        room, used = numbers[2 * i : 2 * i + 2]
        used_end = end + used * dtype.itemsize
        if used > room:
            detail = f"{used:,} {array} in a block with room for {room:,}"
            raise FaultyDumps({0: Fault("count_over_capacity", at + 40 + 8 * i, detail)})
        if used and used_end > len(view):
            detail = f"{used:,} {array} end at byte {used_end:,}: the file is cut, copy it again"
            raise FaultyDumps({0: Fault("truncated", len(view), detail)})
        end += room * dtype.itemsize
    return end


def read_blob(blocks: Blocks, book: SignatureBook, part_bytes: int) -> Iterator[Dumps]:
    """The record of a blob, some blocks at a time.

    A blob of more than `part_bytes` is decoded in parts.

    Yields:
        Records like those of `ingest.etdump.runs.read_dumps`, or parts of them.

    Raises:
        FaultyDumps: The blob has too many signatures.
    """
    ledger = Ledger(Arena([blocks.data]), np.zeros(1, np.int64))
    memory = _read_memory(blocks)
    for begin, end in pairwise([0, *_cut(blocks, part_bytes)]):
        rows = slice(begin, end)
        dumps = _read_blocks(blocks, rows, book, memory.collect(rows))
        ledger.check_signatures(_NONE, [], _NONE, _NONE, book)
        yield dumps


def _cut(blocks: Blocks, part_bytes: int) -> list[int]:
    """Ends of parts of about this many bytes, counted in blocks."""
    count = len(blocks)
    if len(blocks.data) <= part_bytes or not count:
        return [count]
    part = np.append(blocks.start[1:] - 1, len(blocks.data) - 1) // part_bytes
    return [*(np.flatnonzero(np.diff(part)) + 1).tolist(), count]


def _read_blocks(blocks: Blocks, rows: slice, book: SignatureBook, extras: Extras) -> Dumps:
    events = blocks.rows("events", rows)
    counts = blocks.counts("events")[rows]
    layouts, layout = _lay_out(events, counts, book)
    name = _texts(blocks.header["name"][rows])
    keys = list(zip(name.codes.tolist(), layout.tolist(), strict=True))
    ids = {
        (code, index): book.run_signature(name.values[code], -1, layouts[index])
        for code, index in dict.fromkeys(keys)
    }
    return Dumps(
        heads=DumpHeaders(
            version=np.array([VERSION]),
            is_size_prefixed=np.array([False]),
            visited=np.array([len(blocks.data)]),
            run_dump=np.zeros(len(counts), np.int64),
            run_index=np.arange(len(blocks))[rows],
            run_word=blocks.start[rows] >> 2,
        ),
        name=name,
        bundled_input_index=np.full(len(counts), -1, np.int32),
        has_events=np.ones(len(counts), bool),
        layouts=layouts,
        layout=layout,
        signature_id=np.array([ids[key] for key in keys], np.int64),
        counts=counts,
        stored=[StoredRuns(np.arange(len(counts)), is_uniform=False)],
        start=np.ascontiguousarray(events["start"]),
        end=np.ascontiguousarray(events["end"]),
        extras=extras,
        zero_is_no_end=True,
    )


def _lay_out(events: Rows, counts: Ints, book: SignatureBook) -> tuple[list[Layout], Ints]:
    """Distinct layouts, and the index of each block's layout; equal bytes have equal layouts.

    Raises:
        FaultyDumps: A block has too many distinct events.
    """
    words = events.view("<u8").reshape(-1, _WORDS)[:, :_IDENTITY_WORDS]
    ends = np.cumsum(counts)
    layouts: list[Layout] = []
    known: dict[bytes, int] = {}
    layout = np.empty(len(counts), np.int64)
    for block, (begin, end) in enumerate(zip((ends - counts).tolist(), ends.tolist(), strict=True)):
        key = words[begin:end].tobytes()
        if key not in known:
            known[key] = len(layouts)
            chosen, codes = find_distinct(words[begin:end].view(np.int64))
            if len(chosen) > MOST_SIGNATURES:
                raise FaultyDumps({0: TOO_MANY_SIGNATURES})
            distinct = list(map(_logged_event, events[begin:end][chosen].tolist()))
            layouts.append(book.layout(0, distinct, codes, MOST_PART_TEXT))
        layout[block] = known[key]
    return layouts, layout


def _logged_event(fields: tuple[bytes, int, int, int, int]) -> LoggedEvent:
    name, chain, instruction, _, _ = fields
    signed = instruction - 2**32 if instruction >= 2**31 else instruction
    return LoggedEvent(True, cut_name(name), chain, signed, -1, None, False)


def _texts(names: Rows) -> Texts:
    known: dict[bytes, int] = {}
    codes = [known.setdefault(cut_name(name), len(known)) for name in names.tolist()]
    return Texts(np.array(codes, np.int64), list(known))


@dataclass(frozen=True)
class _Memory:
    """Allocators and allocations of all blocks, in order of block.

    They are read together, as an allocation may refer to an allocator of an earlier block.
    """

    allocators: Allocators
    allocations: AllocationEvents

    def collect(self, blocks: slice) -> Extras:
        """The allocators and allocations of some blocks, which are counted from 0."""
        runs = np.arange(blocks.start, blocks.stop)
        own = slice(*np.searchsorted(self.allocators.run, [blocks.start, blocks.stop]))
        used = slice(*np.searchsorted(self.allocations.run, [blocks.start, blocks.stop]))
        allocators, allocations = self.allocators, self.allocations
        return Extras(
            run=runs - blocks.start,
            allocators=Allocators(
                allocators.run[own] - blocks.start,
                allocators.number[own],
                _rows(allocators.name, own),
            ),
            allocations=AllocationEvents(
                allocations.run[used] - blocks.start,
                allocations.position[used],
                allocations.allocator[used],
                _rows(allocations.name, used),
                allocations.size[used],
            ),
            debugs=NO_DEBUGS,
            metadata=NO_METADATA,
            empty_event_run=_NONE,
        )


def _rows(texts: Texts, rows: slice) -> Texts:
    return Texts(texts.codes[rows], texts.values)


def _read_memory(blocks: Blocks) -> _Memory:
    """The allocators and allocations; ids start at 0 in a blob, but at 1 in an ETDump."""
    allocators, allocations = blocks.rows("allocators"), blocks.rows("allocations")
    block = np.arange(len(blocks))
    owner = np.repeat(block, blocks.counts("allocators"))
    user = np.repeat(block, blocks.counts("allocations"))
    name = _texts(allocators["name"])
    used = find_allocators(blocks)
    return _Memory(
        Allocators(owner, _from_one(np.minimum(allocators["id"], 2**32 - 1)), name),
        AllocationEvents(
            run=user,
            position=blocks.counts("events")[user]
            + np.arange(len(user))
            - np.searchsorted(user, user),
            allocator=_from_one(allocations["allocator"]),
            name=Texts(np.append(name.codes, -1)[used], name.values),
            size=allocations["bytes"].astype(np.uint64),
        ),
    )


def _from_one(ids: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
    return (ids.astype(np.int64) + 1).astype(np.int32)
