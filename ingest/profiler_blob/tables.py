"""Blocks of a legacy profiler blob -> the Arrow tables of an ETDump: a block is a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.etdump.arena import Arena, FaultyDumps, Ints
from ingest.etdump.columns import Heads, Texts
from ingest.etdump.dumps import Dumps, Stored
from ingest.etdump.entries import find_distinct
from ingest.etdump.layouts import Layout, SignatureBook
from ingest.etdump.ledger import Ledger
from ingest.etdump.limits import MOST_PART_TEXT, MOST_SIGNATURES, TOO_MANY_SIGNATURES
from ingest.etdump.repeats import Part
from ingest.etdump.schema import read_runs
from ingest.etdump.scope import Scope
from ingest.profiler_blob.blocks import EVENT, VERSION, Blocks, Rows, cut_name, find_allocators
from ingest.signatures import LoggedEvent
from ingest.tables.arrow_columns import build_table, strings, unsigned
from ingest.tables.build import build_tables
from ingest.tables.clocks import END_BEFORE_START, WRAPPED_32

Tables = dict[str, pa.Table]

_WORDS = EVENT.itemsize // 8
_IDENTITY_WORDS = 5  # name, chain and instruction: all but the two times
_NONE = np.zeros(0, np.int64)
_WRAP = np.uint64(2**32)


def build_prof_tables(blocks: Blocks, book: SignatureBook, part_bytes: int) -> Iterator[Tables]:
    """All decoded tables but the two of signatures, some blocks at a time.

    Args:
        blocks: The verified blocks of a blob.
        book: Where its signatures are put down.
        part_bytes: Size of the blob that is decoded in one go; a larger one comes in parts.

    Yields:
        What `ingest.tables.build.build_tables` gives for a dump, or a part of it. Allocators and
        allocations of all blocks are in the first part.

    Raises:
        FaultyDumps: The blob holds too many signatures.
    """
    ends = _cut(blocks, part_bytes)
    ledger = Ledger(Arena([blocks.data]), np.zeros(1, np.int64))
    memory = _memory_tables(blocks)
    for part, (begin, end) in enumerate(pairwise([0, *ends])):
        rows = slice(begin, end)
        dump = _as_dump(blocks, rows, book)
        ledger.check_signatures(_NONE, [], _NONE, _NONE, book)
        tables = build_tables(dump, ledger.sizes)
        _flag_unended(tables)
        if part == 0:
            tables |= memory
            _replace(tables, "dumps", n_allocations=np.array([memory["allocations"].num_rows]))
        yield tables


def _cut(blocks: Blocks, part_bytes: int) -> list[int]:
    """Where parts of about that many bytes end, in blocks."""
    count = len(blocks)
    if len(blocks.data) <= part_bytes or not count:
        return [count]
    part = np.append(blocks.start[1:] - 1, len(blocks.data) - 1) // part_bytes
    return [*(np.flatnonzero(np.diff(part)) + 1).tolist(), count]


def _as_dump(blocks: Blocks, rows: slice, book: SignatureBook) -> Dumps:
    """The blocks as runs of a dump that holds nothing but profile events."""
    events = blocks.rows("events", rows)
    counts = blocks.counts("events")[rows]
    layouts, layout = _lay_out(events, counts, book)
    name = _texts(blocks.header["name"][rows])
    ids = {
        (code, index): book.run_signature(name.values[code], -1, layouts[index])
        for code, index in set(zip(name.codes.tolist(), layout.tolist(), strict=True))
    }
    keys = zip(name.codes.tolist(), layout.tolist(), strict=True)
    return Dumps(
        heads=Heads(
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
        stored=[Stored(np.arange(len(counts)), is_uniform=False)],
        start=np.ascontiguousarray(events["start"]),
        end=np.ascontiguousarray(events["end"]),
        rest=_no_rest(),
    )


@cache
def _no_rest() -> Part:
    """No runs: a blob has nothing but what is handled here."""
    return Part(_NONE, read_runs(Scope.of_dumps(Arena([bytes(8)]), _NONE), _NONE))


def _lay_out(events: Rows, counts: Ints, book: SignatureBook) -> tuple[list[Layout], Ints]:
    """Distinct layouts, and the index of each block's; equal bytes make equal layouts.

    Raises:
        FaultyDumps: A block holds too many distinct events.
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


def _memory_tables(blocks: Blocks) -> Tables:
    """Tables allocators and allocations; ids count from 1 there, from 0 in the blob."""
    allocators, allocations = blocks.rows("allocators"), blocks.rows("allocations")
    block = np.arange(len(blocks), dtype=np.int32)
    owner = np.repeat(block, blocks.counts("allocators"))
    user = np.repeat(block, blocks.counts("allocations"))
    number = np.arange(len(user)) - np.searchsorted(user, user)
    name = _texts(allocators["name"])
    used = find_allocators(blocks)
    return {
        "allocators": build_table(
            "allocators",
            np.zeros(len(owner), np.int32),
            owner,
            _from_one(np.minimum(allocators["id"], 2**32 - 1)),
            strings(name),
        ),
        "allocations": build_table(
            "allocations",
            np.zeros(len(user), np.int32),
            user,
            (blocks.counts("events")[user] + number).astype(np.int32),
            _from_one(allocations["allocator"]),
            strings(Texts(np.append(name.codes, -1)[used], name.values)),
            unsigned(allocations["bytes"].astype(np.uint64)),
        ),
    }


def _from_one(ids: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
    return (ids.astype(np.int64) + 1).astype(np.int32)


def _flag_unended(tables: Tables) -> None:
    """Flag events that never ended: their end is 0, which is not a 32-bit clock's wrap."""
    events, runs = tables["events"], tables["runs"]
    rows = np.flatnonzero(events["flags"].to_numpy() == WRAPPED_32)
    if not len(rows):
        return
    run = events["run_index"].to_numpy()[rows] - runs["run_index"][0].as_py()
    first = runs["start_ticks"].cast(pa.uint64()).fill_null(0).to_numpy()[run]
    start = first + events["start_offset_ticks"].to_numpy()[rows].view(np.uint64)
    duration, flags = (events[name].to_numpy().copy() for name in ("duration_ticks", "flags"))
    unended = rows[start + duration[rows].view(np.uint64) == _WRAP]
    duration[unended] -= 2**32
    flags[unended] = END_BEFORE_START
    _replace(tables, "events", duration_ticks=duration, flags=flags)
    _replace(
        tables,
        "dumps",
        n_flagged_events=tables["dumps"]["n_flagged_events"].to_numpy() + len(unended),
    )


def _replace(tables: Tables, name: str, **columns: Ints) -> None:
    table = tables[name]
    for column, values in columns.items():
        index = table.column_names.index(column)
        table = table.set_column(index, table.field(index), pa.array(values))
    tables[name] = table
