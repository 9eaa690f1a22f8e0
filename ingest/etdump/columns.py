"""Contents of dumps as verified columns: one row per dump, run, event or allocator. Pure.

Events are also collected as rows of numbers (`Entries`), for comparing and counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints
from tracehouse.ingest.etdump.flatbuffer import TableColumn
from tracehouse.ingest.etdump.values import NO_VALUES, Values
from tracehouse.ingest.signatures import LoggedEvent

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Texts:
    """A nullable column of texts: a code per row (-1 if absent) and the distinct texts."""

    codes: Ints
    values: list[bytes]


@dataclass(frozen=True)
class DumpHeaders:
    """Dumps without the contents of their runs: one row per dump, and one per run in file order.

    Attributes:
        version: Schema version per dump.
        is_size_prefixed: Whether each dump has a size prefix.
        visited: Bytes read so far, per dump.
        run_dump: Dump of each run, ascending.
        run_index: Position of each run in its dump.
        run_word: Position of each run's table.
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
    number: NDArray[np.int32]
    name: Texts


@dataclass(frozen=True)
class RunHeaders:
    """Runs without their events: one row per run, and the allocators."""

    tables: TableColumn
    name: Texts
    bundled_input_index: NDArray[np.int32]
    has_events: NDArray[np.bool_]
    allocators: Allocators


@dataclass(frozen=True)
class IdentifiedEvents:
    """The common columns of profile and debug events, one row per event.

    Attributes:
        event: Row of the event among all events of any kind.
        run: Row of its run.
        position: Position of the event in the run.
        name: Name of the event.
        instruction: Instruction id, -1 outside the program.
        delegate_int: Integer delegate debug id, -1 if absent.
        delegate_str: String delegate debug id.
    """

    event: Ints
    run: Ints
    position: Ints
    name: Texts
    instruction: NDArray[np.int32]
    delegate_int: NDArray[np.int32]
    delegate_str: Texts


@dataclass(frozen=True)
class ProfileEvents(IdentifiedEvents):
    """One row per profile event, in file order."""

    tables: TableColumn
    chain: NDArray[np.int32]
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    metadata: Texts


@dataclass(frozen=True)
class AllocationEvents:
    """One row per allocation event, in file order; `name` is its allocator's name, if known."""

    run: Ints
    position: Ints
    allocator: NDArray[np.int32]
    name: Texts
    size: NDArray[np.uint64]


@dataclass(frozen=True)
class DebugEvents(IdentifiedEvents):
    """One row per debug event, in file order."""

    chain: NDArray[np.uint64]
    values: Values


@dataclass(frozen=True)
class Runs:
    """Runs with all their contents: one row per run, and rows of their contents in file order."""

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


_NONE = np.zeros(0, np.int64)
_NO_CODES = _NONE.astype(np.int32)
_NO_TICKS = _NONE.astype(np.uint64)

NO_TEXTS = Texts(_NONE, [])
NO_ALLOCATORS = Allocators(_NONE, _NO_CODES, NO_TEXTS)
NO_ALLOCATIONS = AllocationEvents(_NONE, _NONE, _NO_CODES, NO_TEXTS, _NO_TICKS)
NO_DEBUGS = DebugEvents(
    event=_NONE,
    run=_NONE,
    position=_NONE,
    name=NO_TEXTS,
    instruction=_NO_CODES,
    delegate_int=_NO_CODES,
    delegate_str=NO_TEXTS,
    chain=_NO_TICKS,
    values=NO_VALUES,
)


def find_allocators(allocators: Allocators, run: Ints, number: NDArray[np.int32]) -> Texts:
    """Names of the allocators with these numbers in these runs; absent for unknown numbers."""
    counts = np.bincount(allocators.run, minlength=int(run.max(initial=-1)) + 1)
    first = np.cumsum(counts) - counts
    known = (number >= 1) & (number <= counts[run])
    row = np.where(known, first[run] + number - 1, -1)
    return Texts(np.append(allocators.name.codes, -1)[row], allocators.name.values)


@dataclass(frozen=True)
class Entries:
    """Profile and debug events of all runs in file order, one column per identifying field.

    Attributes:
        run: Run of each.
        fields: is_profile, name, chain, instruction, both delegate ids and is_output.
        texts: Names and string ids by their numbers in `fields`, where -1 means absent.
    """

    run: Ints
    fields: NDArray[np.int64]
    texts: list[bytes]

    def logged_events(self, rows: Ints | slice) -> list[LoggedEvent]:
        """These rows as events, with texts instead of numbers."""
        return [_logged_event(row, self.texts) for row in self.fields[rows].tolist()]


def collect_entries(runs: Runs) -> Entries:
    """The profile and debug events of these runs as entries."""
    profiles, debugs = runs.profiles, runs.debugs
    parts: list[NDArray[np.int64]] = []
    texts: list[bytes] = []
    for events, chain, is_output in (
        (profiles, profiles.chain, np.zeros(len(profiles.run), bool)),
        (debugs, debugs.chain.view(np.int64), debugs.values.is_output),
    ):
        if not len(events.run):
            continue
        names = np.where(events.name.codes < 0, -1, events.name.codes + len(texts))
        texts += events.name.values
        ids = np.where(events.delegate_str.codes < 0, -1, events.delegate_str.codes + len(texts))
        texts += events.delegate_str.values
        columns = np.broadcast_arrays(
            events is profiles,
            names,
            chain,
            events.instruction,
            events.delegate_int,
            ids,
            is_output,
        )
        parts.append(np.array(columns, np.int64).T)  # columns are hashed and compared one by one
    run = np.concatenate([profiles.run, debugs.run])
    if not parts:
        return Entries(run, np.zeros((0, 7), np.int64), texts)
    fields = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if len(debugs.run):
        order = np.argsort(np.concatenate([profiles.event, debugs.event]), kind="stable")
        run, fields = run[order], fields[order]
    return Entries(run, fields, texts)


def hash_rows(columns: Sequence[NDArray[np.int64]], count: int) -> NDArray[np.uint64]:
    """A hash of each of `count` rows."""
    hashed = np.zeros(count, np.uint64)
    for column in columns:
        hashed = (hashed ^ column.view(np.uint64)) * _MIX
        hashed ^= hashed >> np.uint64(32)
    return hashed


def find_distinct(fields: NDArray[np.int64]) -> tuple[Ints, NDArray[np.int32]]:
    """First row of each distinct row, ascending; and for each row the index of its equal."""
    varying = [column for column in fields.T if (column != column[:1]).any()]
    hashed = hash_rows(varying, len(fields))
    head = _first_in_slot(hashed)
    # Usually no slot is shared, as few rows are distinct.
    if all((column == column[head]).all() for column in varying):
        is_head = head == np.arange(len(head))
        return np.flatnonzero(is_head), (np.cumsum(is_head, dtype=np.int32) - 1)[head]
    _, first, member = np.unique(hashed, return_index=True, return_inverse=True)
    if (fields != fields[first[member]]).any():  # hashes collide
        _, first, member = np.unique(fields, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return first[order], number[member]


def _first_in_slot(hashed: NDArray[np.uint64]) -> NDArray[np.int32]:
    """For each hash, the first row whose hash falls into the same slot of a hash table."""
    bits = len(hashed).bit_length() + 3
    slot = (hashed * _MIX >> np.uint64(64 - bits)).astype(np.int64)
    table = np.empty(1 << bits, np.int32)
    table[slot[::-1]] = np.arange(len(slot))[::-1]  # the last assignment to a slot stays
    first: NDArray[np.int32] = table[slot]
    return first


def count_before(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """For each code, how often it occurs before."""
    narrow = codes.astype(np.min_scalar_type(codes.max(initial=0)))  # 16 bits: a radix sort
    order = np.argsort(narrow, kind="stable")
    counts = np.bincount(codes)
    before = np.empty(len(codes), np.int32)
    before[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return before


def _logged_event(fields: list[int], texts: list[bytes]) -> LoggedEvent:
    is_profile, name, chain, instruction, delegate_int, delegate_str, is_output = fields
    return LoggedEvent(
        bool(is_profile),
        texts[name] if name >= 0 else None,
        chain if is_profile or chain >= 0 else chain + 2**64,
        instruction,
        delegate_int,
        texts[delegate_str] if delegate_str >= 0 else None,
        bool(is_output),
    )
