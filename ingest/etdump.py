"""The ETDump schema read over flatbuffer.py: an arena of dumps in, verified columns out. Pure.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.arena import Arena, Ints
from ingest.flatbuffer import Tables, expand_vectors, read_strings, read_tables, read_vectors
from ingest.scope import Scope
from ingest.strings import encode_strings
from ingest.values import Values, read_values

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


@dataclass(frozen=True)
class Texts:
    """A nullable column of texts: code per row (-1 where absent) and the distinct texts."""

    codes: Ints
    values: list[bytes]


@dataclass(frozen=True)
class Heads:
    """What comes before the runs: one row per dump, and one per run in file order.

    Attributes:
        version: Schema version per dump.
        is_size_prefixed: Form of each dump.
        visited: Bytes read so far, per dump.
        run_dump: Dump of each run, ascending.
        run_index: Position of each run in its dump.
        run_word: Where each run's table stands.
    """

    version: Ints
    is_size_prefixed: NDArray[np.bool_]
    visited: Ints
    run_dump: Ints
    run_index: Ints
    run_word: Ints


@dataclass(frozen=True)
class Allocators:
    """One row per allocator: its run, and its number in the run, from 1."""

    run: Ints
    number: Ints
    name: Texts


@dataclass(frozen=True)
class Event:
    """What profile and debug events share: event row, run row, position in the run, identity."""

    event: Ints
    run: Ints
    position: Ints
    name: Texts
    instruction: NDArray[np.int32]
    delegate_int: NDArray[np.int32]
    delegate_str: Texts


@dataclass(frozen=True)
class ProfileEvents(Event):
    """One row per profile event, in file order."""

    tables: Tables
    chain: NDArray[np.int32]
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    metadata: Texts


@dataclass(frozen=True)
class AllocationEvents:
    """One row per allocation event, in file order."""

    run: Ints
    position: Ints
    allocator: NDArray[np.int32]
    size: NDArray[np.uint64]


@dataclass(frozen=True)
class DebugEvents(Event):
    """One row per debug event, in file order."""

    chain: NDArray[np.uint64]
    values: Values


@dataclass(frozen=True)
class Runs:
    """Runs read in full: one row per run, and the rows of everything in them, in file order."""

    name: Texts
    bundled_input_index: NDArray[np.int32]
    has_events: NDArray[np.bool_]
    allocators: Allocators
    profiles: ProfileEvents
    allocations: AllocationEvents
    debugs: DebugEvents
    empty_event_run: Ints

    @property
    def profile_counts(self) -> Ints:
        """Profile events of each run."""
        return np.bincount(self.profiles.run, minlength=len(self.has_events))


def read_heads(arena: Arena) -> Heads:
    """Verify identifier, size prefix, root and run vector of every dump.

    Raises:
        FaultyDumps: Some dumps are malformed; read the others again without them.
    """
    size = arena.hi - arena.lo
    everyone = np.arange(len(size))
    scope = Scope.of_dumps(arena, everyone)
    is_size_prefixed = _check_identifiers(scope, size)
    root = scope.follow((arena.lo >> 2) + is_size_prefixed, everyone)
    roots = read_tables(scope, root, everyone, _ROOT)
    _, vectors, owner = roots.refs(1)
    row, index, word = _follow_vector(scope, vectors, owner)
    version = roots.int32(0, 0).view(np.uint32).astype(np.int64)
    return Heads(version, is_size_prefixed, scope.visited, owner[row], index, word)


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
    scope.require(
        ~is_prefixed | (first == size - 4), everyone, arena.lo, reason="bad_size_prefix",
        detail="the size prefix is not the file's length - 4: cut or appended to, copy it again",
    )  # fmt: skip
    return is_prefixed


def read_runs(scope: Scope, word: Ints) -> Runs:
    """Read and verify the runs at `word`, everything in them included; run i has owner i.

    Raises:
        FaultyDumps: Something in a run is malformed or out of the scope's bounds.
    """
    tables = read_tables(scope, word, np.arange(len(word)), _RUN)
    return Runs(
        _texts(tables, 0),
        tables.int32(1, -1),
        tables.has(3),
        _read_allocators(tables),
        *_read_events(tables),
    )


def _follow_vector(scope: Scope, vectors: Ints, owner: Ints) -> tuple[Ints, Ints, Ints]:
    """Items of vectors of offsets: (row of the vector, index in it, target), in order."""
    if not len(vectors):
        return vectors, vectors, vectors
    row, index, words = expand_vectors(vectors, read_vectors(scope, vectors, owner, 4))
    return row, index, scope.follow(words, owner[row])


def _texts(tables: Tables, slot: int) -> Texts:
    rows, words, owner = tables.refs(slot)
    return _encode(tables, rows, words, read_strings(tables.scope, words, owner))


def _bytes(tables: Tables, slot: int) -> Texts:
    """Like `_texts` for vectors of bytes; empty ones count as absent."""
    rows, words, owner = tables.refs(slot)
    length = read_vectors(tables.scope, words, owner, 1)
    full = np.flatnonzero(length)
    return _encode(tables, rows[full], words[full], length[full])


def _encode(tables: Tables, rows: Ints, words: Ints, length: Ints) -> Texts:
    if not len(rows):
        return Texts(np.full(len(tables), -1, np.int64), [])
    codes, values = encode_strings(tables.scope.arena, words, length)
    if len(rows) == len(tables):
        return Texts(codes, values)
    all_codes = np.full(len(tables), -1, np.int64)
    all_codes[rows] = codes
    return Texts(all_codes, values)


def _read_allocators(runs: Tables) -> Allocators:
    run, vectors, owner = runs.refs(2)
    row, index, words = _follow_vector(runs.scope, vectors, owner)
    tables = read_tables(runs.scope, words, owner[row], _ALLOCATOR)
    return Allocators(run[row], index + 1, _texts(tables, 0))


def _read_events(runs: Tables) -> tuple[ProfileEvents, AllocationEvents, DebugEvents, Ints]:
    _, vectors, owner = runs.refs(3)
    row, position, words = _follow_vector(runs.scope, vectors, owner)
    events = read_tables(runs.scope, words, owner[row], _EVENT)
    is_empty = ~(events.has(0) | events.has(1) | events.has(2))
    return (
        _read_profiles(events, position),
        _read_allocations(events, position),
        _read_debugs(events, position),
        events.owner[is_empty],
    )


def _read_profiles(events: Tables, position: Ints) -> ProfileEvents:
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


def _read_allocations(events: Tables, position: Ints) -> AllocationEvents:
    rows, words, owner = events.refs(1)
    tables = read_tables(events.scope, words, owner, _ALLOCATION)
    return AllocationEvents(owner, position[rows], tables.int32(0, 0), tables.uint64(1))


def _read_debugs(events: Tables, position: Ints) -> DebugEvents:
    rows, words, owner = events.refs(2)
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
