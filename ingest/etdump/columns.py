"""What is read of dumps, as verified columns: one row per dump, run, event or allocator. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.etdump.arena import Ints
from ingest.etdump.flatbuffer import Tables
from ingest.etdump.values import Values


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
class RunHeads:
    """Runs but for their events: one row per run, and the allocators in them."""

    tables: Tables
    name: Texts
    bundled_input_index: NDArray[np.int32]
    has_events: NDArray[np.bool_]
    allocators: Allocators


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


def find_allocators(runs: Runs) -> Ints:
    """Code of the name of each allocation's allocator; -1 where unknown."""
    allocators, allocations = runs.allocators, runs.allocations
    counts = np.bincount(allocators.run, minlength=len(runs.has_events))
    first = np.cumsum(counts) - counts
    number = allocations.allocator
    known = (number >= 1) & (number <= counts[allocations.run])
    row = np.where(known, first[allocations.run] + number - 1, -1)
    codes: Ints = np.append(allocators.name.codes, -1)[row]
    return codes
