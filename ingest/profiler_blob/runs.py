"""Blocks of a profiler blob -> the record of decoded dumps: a block is a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Arena, FaultyDumps, Ints
from tracehouse.ingest.etdump.columns import (
    NO_DEBUGS,
    AllocationEvents,
    Allocators,
    DumpHeaders,
    Texts,
)
from tracehouse.ingest.etdump.dumps import NO_METADATA, Dumps, Extras, StoredRuns
from tracehouse.ingest.etdump.entries import find_distinct
from tracehouse.ingest.etdump.layouts import Layout, SignatureBook
from tracehouse.ingest.etdump.ledger import Ledger
from tracehouse.ingest.etdump.limits import MOST_PART_TEXT, MOST_SIGNATURES, TOO_MANY_SIGNATURES
from tracehouse.ingest.profiler_blob.blocks import (
    EVENT,
    VERSION,
    Blocks,
    Rows,
    cut_name,
    find_allocators,
)
from tracehouse.ingest.signatures import LoggedEvent

_WORDS = EVENT.itemsize // 8
_IDENTITY_WORDS = 5  # name, chain and instruction: all but the two times
_NONE = np.zeros(0, np.int64)


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
