"""The ETDump schema on top of flatbuffer.py: an arena of dumps -> verified columns. Pure.

Schema (ExecuTorch 1.5, ``etdump_schema_flatcc.fbs``); the number is the slot:

    ETDump          0 version:uint  1 run_data:[RunData]
    RunData         0 name  1 bundled_input_index:int=-1  2 allocators:[Allocator]  3 events:[Event]
    Allocator       0 name
    Event           0 profile_event  1 allocation_event  2 debug_event
    ProfileEvent    0 name  1 chain_index:int  2 instruction_id:int=-1
                    3 delegate_debug_id_int:int=-1  4 delegate_debug_id_str
                    5 delegate_debug_metadata:[ubyte]  6 start_time:ulong  7 end_time:ulong
    AllocationEvent 0 allocator_id:int  1 allocation_size:ulong
    DebugEvent      0 chain_index:ulong  1 instruction_id:int=-1  2 debug_entry:Value
                    3 delegate_debug_id_int:int=-1  4 delegate_debug_id_str  5 name
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import MOST_RUNS, Arena, Ints, Mask, Scope
from tracehouse.ingest.etdump.columns import (
    NO_ALLOCATIONS,
    NO_ALLOCATORS,
    NO_DEBUGS,
    AllocationEvents,
    Allocators,
    DebugEvents,
    DumpHeaders,
    ProfileEvents,
    RunHeaders,
    Runs,
    Texts,
    find_allocators,
)
from tracehouse.ingest.etdump.flatbuffer import (
    TableColumn,
    expand_vectors,
    read_strings,
    read_tables,
    read_vectors,
)
from tracehouse.ingest.etdump.values import read_values

_SHORT = 64  # bytes; longer strings are rare and are read one by one
_FEW = 512  # fewer strings are read one by one
_PRIMES = np.random.default_rng(20261121).integers(2**62, 2**63, _SHORT // 4 + 1, np.uint64) | 1

IDENTIFIER = int.from_bytes(b"ED00", "little")
_LARGEST = 2**31 - 1  # bytes that 32-bit signed offsets reach
_SMALLEST = 16  # bytes of a bare dump: root offset, identifier, an empty vtable and table
_ROOT = (4, 4)
_RUN = (4, 4, 4, 4)
_ALLOCATOR = (4,)
_EVENT = (4, 4, 4)
PROFILE_WIDTHS = (4, 4, 4, 4, 4, 4, 8, 8)
_ALLOCATION = (4, 8)
_DEBUG = (8, 4, 4, 4, 4, 4)


def encode_strings(arena: Arena, word: Ints, length: Ints) -> tuple[Ints, list[bytes]]:
    """Dictionary-encode strings exactly; hashes only select candidates.

    Args:
        arena: The arena.
        word: Word of each string's length; the text starts at the next word.
        length: Bytes of each string.

    Returns:
        The code of each string, and the texts by code (a text may have several codes).
    """
    codes = np.full(len(word), -1, np.int64)
    texts: list[bytes] = []
    if len(word) >= _FEW:
        _encode_by_size(arena, word, length, codes, texts)
    rows = np.flatnonzero(codes < 0)
    found = _read_texts(arena, word[rows], length[rows])
    number = {text: code for code, text in enumerate(dict.fromkeys(found), len(texts))}
    codes[rows] = [number[text] for text in found]
    return codes, texts + list(number)


def _encode_by_size(
    arena: Arena, word: Ints, length: Ints, codes: Ints, texts: list[bytes]
) -> None:
    """Fill in the codes of short strings, one size at a time, and append their texts."""
    for size in np.flatnonzero(np.bincount(np.minimum(length, _SHORT + 1))[: _SHORT + 1]).tolist():
        rows = np.flatnonzero(length == size)
        heads, alike = _heads(arena, word[rows], size)
        is_head = np.flatnonzero(heads == np.arange(len(rows)))
        code = np.empty(len(rows), np.int64)
        code[is_head] = np.arange(len(is_head)) + len(texts)
        codes[rows] = np.where(alike, code[heads], -1)
        texts += _read_texts(arena, word[rows[is_head]], length[rows[is_head]])


def _read_texts(arena: Arena, word: Ints, length: Ints) -> list[bytes]:
    view, begin = arena.u8.data, word * 4 + 4
    spans = zip(begin.tolist(), (begin + length).tolist(), strict=True)
    return [view[first:end].tobytes() for first, end in spans]


def _heads(arena: Arena, word: Ints, size: int) -> tuple[Ints, Mask]:
    """For each string of one size: a string with the same hash, and whether both are equal."""
    count = (size + 3) // 4
    place = word[:, None] + np.arange(1, count + 1)
    words = arena.i32[np.minimum(place, len(arena.i32) - 1)].view(np.uint32)
    if size % 4:
        words[:, -1] &= np.uint32((1 << 8 * (size % 4)) - 1)
    hashed = (words * _PRIMES[:count]).sum(axis=1, dtype=np.uint64)
    bits = max(len(word).bit_length() + 3, 8)
    slot = (hashed * _PRIMES[-1] >> np.uint64(64 - bits)).astype(np.int64)
    table = np.empty(1 << bits, np.int64)
    table[slot] = np.arange(len(word))
    heads = table[slot]
    return heads, (words == words[heads]).all(axis=1)


def read_headers(arena: Arena) -> DumpHeaders:
    """Verify identifier, size prefix, root and run vector of every dump.

    Raises:
        FaultyDumps: Some dumps are malformed; read the others again without them.
    """
    return read_headers_of(Scope.of_dumps(arena, np.arange(len(arena.lo))))


def read_headers_of(scope: Scope) -> DumpHeaders:
    """Like `read_headers`, in a scope of all dumps of its arena."""
    arena, everyone = scope.arena, scope.dump
    size = arena.hi - arena.lo
    is_size_prefixed = _check_identifiers(scope, size)
    root = scope.follow((arena.lo >> 2) + is_size_prefixed, everyone)
    roots = read_tables(scope, root, everyone, _ROOT)
    _, vectors, owner = roots.refs(1)
    length = read_vectors(scope, vectors, owner, 4)
    scope.require(
        length <= MOST_RUNS, owner, vectors * 4, reason="too_many_runs",
        detail=f"more than {MOST_RUNS:,} runs: write several smaller dumps",
    )  # fmt: skip
    row, index, words = expand_vectors(vectors, length)
    word = scope.follow(words, owner[row])
    version = roots.int32(0, 0).view(np.uint32).astype(np.int64)
    return DumpHeaders(version, is_size_prefixed, scope.visited, owner[row], index, word)


def _check_identifiers(scope: Scope, size: Ints) -> NDArray[np.bool_]:
    """Whether each dump is size-prefixed (the runtime's form) or bare."""
    arena, everyone = scope.arena, np.arange(len(size))
    scope.require(
        size > 0, everyone, arena.lo, reason="empty", detail="the file is empty: copy it again"
    )
    scope.require(
        size <= _LARGEST, everyone, arena.lo, reason="too_large",
        detail="larger than a FlatBuffers file can be (2 GiB): write several smaller dumps",
    )  # fmt: skip
    scope.require(
        size >= _SMALLEST, everyone, arena.hi, reason="truncated",
        detail=f"shorter than the smallest ETDump ({_SMALLEST} bytes): copy it again",
    )  # fmt: skip
    word = arena.lo >> 2
    first = arena.i32[word].view(np.uint32).astype(np.int64)
    late, early = arena.i32[word + 2] == IDENTIFIER, arena.i32[word + 1] == IDENTIFIER
    scope.require(
        late | early, everyone, arena.lo + 4, reason="bad_identifier",
        detail="not an ETDump: no 'ED00' at byte 8 (the runtime's form) or 4 (bare)",
    )  # fmt: skip
    is_prefixed: NDArray[np.bool_] = late & ((first == size - 4) | ~early)
    has_more = is_prefixed & (first < size - 4)
    has_zeros = has_more.copy()
    for dump in np.flatnonzero(has_more).tolist():
        behind = arena.u8[arena.lo[dump] + first[dump] + 4 : arena.hi[dump]]
        has_zeros[dump] = not behind.any()
    for is_wrong, detail in (
        (
            is_prefixed & (first > size - 4),
            "the file is shorter than its size prefix says: copy it again, or give the runner a "
            "larger buffer",
        ),
        (
            has_zeros,
            "zeros follow the dump, as if a whole static buffer was written: write only the bytes "
            "that get_etdump_data() returns",
        ),
        (has_more, "the file is longer than its size prefix says: copy it again"),
    ):
        scope.require(~is_wrong, everyone, arena.lo, reason="bad_size_prefix", detail=detail)
    return is_prefixed


def read_runs(scope: Scope, word: Ints) -> Runs:
    """Read and verify the runs at `word` with all their contents; run i has owner i.

    Raises:
        FaultyDumps: A run is malformed or out of the scope's bounds.
        PartTooLarge: The runs are too large to be read at once.
    """
    head = read_run_headers(scope, word)
    _, vectors, owner = head.tables.refs(3)
    row, position, words = _follow_vector(scope, vectors, owner)
    return read_events(head, words, owner[row], position)


def read_run_headers(scope: Scope, word: Ints) -> RunHeaders:
    """Read and verify the runs at `word` without their events; run i has owner i.

    Raises:
        FaultyDumps: A run is malformed or out of the scope's bounds.
        PartTooLarge: The runs are too large to be read at once.
    """
    tables = read_tables(scope, word, np.arange(len(word)), _RUN)
    return RunHeaders(
        tables, _texts(tables, 0), tables.int32(1, -1), tables.has(3), _read_allocators(tables)
    )


def read_events(head: RunHeaders, words: Ints, owner: Ints, position: Ints) -> Runs:
    """Read and verify the events at `words`, each at `position` in the run `owner`.

    Raises:
        FaultyDumps: An event is malformed or out of the scope's bounds.
        PartTooLarge: The events are too large to be read at once.
    """
    events = read_tables(head.tables.scope, words, owner, _EVENT)
    return Runs(
        head.name,
        head.bundled_input_index,
        head.has_events,
        head.allocators,
        _read_profiles(events, position),
        _read_allocations(events, position, head.allocators),
        _read_debugs(events, position),
        _find_empty(events),
    )


def _find_empty(events: TableColumn) -> Ints:
    """Runs of the events without any member."""
    if any(events.least):  # all events have this member
        return events.owner[:0]
    is_empty = ~(events.has(0) | events.has(1) | events.has(2))
    return events.owner[is_empty]


def _follow_vector(scope: Scope, vectors: Ints, owner: Ints) -> tuple[Ints, Ints, Ints]:
    """Items of vectors of offsets: (row of the vector, index in it, target), in order."""
    if not len(vectors):
        return vectors, vectors, vectors
    row, index, words = expand_vectors(vectors, read_vectors(scope, vectors, owner, 4))
    return row, index, scope.follow(words, owner[row])


def _texts(tables: TableColumn, slot: int) -> Texts:
    rows, words, owner = tables.refs(slot)
    return _encode(tables, rows, words, read_strings(tables.scope, words, owner))


def _bytes(tables: TableColumn, slot: int) -> Texts:
    """Like `_texts` for vectors of bytes; empty ones count as absent."""
    rows, words, owner = tables.refs(slot)
    if not len(rows):
        return _encode(tables, rows, words, words)
    length = read_vectors(tables.scope, words, owner, 1)
    full = np.flatnonzero(length)
    return _encode(tables, rows[full], words[full], length[full])


def _encode(tables: TableColumn, rows: Ints, words: Ints, length: Ints) -> Texts:
    if not len(rows):
        return Texts(np.full(len(tables), -1, np.int64), [])
    codes, values = encode_strings(tables.scope.arena, words, length)
    if len(rows) == len(tables):
        return Texts(codes, values)
    all_codes = np.full(len(tables), -1, np.int64)
    all_codes[rows] = codes
    return Texts(all_codes, values)


def _read_allocators(runs: TableColumn) -> Allocators:
    run, vectors, owner = runs.refs(2)
    if not len(run):
        return NO_ALLOCATORS
    row, index, words = _follow_vector(runs.scope, vectors, owner)
    tables = read_tables(runs.scope, words, owner[row], _ALLOCATOR)
    return Allocators(run[row], (index + 1).astype(np.int32), _texts(tables, 0))


def _read_profiles(events: TableColumn, position: Ints) -> ProfileEvents:
    rows, words, owner = events.refs(0)
    tables = read_tables(events.scope, words, owner, PROFILE_WIDTHS)
    return ProfileEvents(
        event=rows,
        run=owner,
        position=position[rows],
        tables=tables,
        name=_texts(tables, 0),
        chain=tables.int32(1, 0),
        instruction=tables.int32(2, -1),
        delegate_int=tables.int32(3, -1),
        delegate_str=_texts(tables, 4),
        metadata=_bytes(tables, 5),
        start=tables.uint64(6),
        end=tables.uint64(7),
    )


def _read_allocations(
    events: TableColumn, position: Ints, allocators: Allocators
) -> AllocationEvents:
    rows, words, owner = events.refs(1)
    if not len(rows):
        return NO_ALLOCATIONS
    tables = read_tables(events.scope, words, owner, _ALLOCATION)
    number = tables.int32(0, 0)
    name = find_allocators(allocators, owner, number)
    return AllocationEvents(owner, position[rows], number, name, tables.uint64(1))


def _read_debugs(events: TableColumn, position: Ints) -> DebugEvents:
    rows, words, owner = events.refs(2)
    if not len(rows):
        return NO_DEBUGS
    tables = read_tables(events.scope, words, owner, _DEBUG)
    return DebugEvents(
        event=rows,
        run=owner,
        position=position[rows],
        chain=tables.uint64(0),
        instruction=tables.int32(1, -1),
        values=read_values(tables, 2),
        delegate_int=tables.int32(3, -1),
        delegate_str=_texts(tables, 4),
        name=_texts(tables, 5),
    )
