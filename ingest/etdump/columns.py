"""Contents of dumps as verified columns: one row per dump, run, event or allocator. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints
from tracehouse.ingest.etdump.flatbuffer import TableColumn
from tracehouse.ingest.etdump.values import NO_VALUES, Values


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
