"""The contents of decoded dumps, from which tables are built. Pure.

The readers of ETDumps and of profiler blobs both produce these records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints
from tracehouse.ingest.etdump.columns import (
    NO_TEXTS,
    AllocationEvents,
    Allocators,
    DebugEvents,
    DumpHeaders,
    Runs,
    Texts,
)
from tracehouse.ingest.etdump.layouts import Layout


@dataclass(frozen=True)
class StoredRuns:
    """Runs whose profile events are adjacent in `Dumps.start` and `Dumps.end`.

    Attributes:
        run: The runs, in the order of their events there.
        is_uniform: Whether all of the runs have the same layout.
    """

    run: Ints
    is_uniform: bool


@dataclass(frozen=True)
class Metadata:
    """One row per profile event that carries delegate metadata.

    Attributes:
        run: Run of the event.
        place: Position of the event among the profile events of its run.
        content: The bytes.
    """

    run: Ints
    place: Ints
    content: Texts


@dataclass(frozen=True)
class Extras:
    """Contents of some runs other than profile events.

    Attributes:
        run: Indices of these runs in `Dumps`; all fields below count these runs from 0.
        empty_event_run: Run of each event without any member.
    """

    run: Ints
    allocators: Allocators
    allocations: AllocationEvents
    debugs: DebugEvents
    metadata: Metadata
    empty_event_run: Ints


@dataclass(frozen=True)
class RunExcerpt:
    """The place of a record's events in their run, if the record has only some of its events.

    Attributes:
        is_first: Whether the record has the run's first events.
        event_count: Profile events in the run.
        origin: Reading that its starts are relative to; see `find_origins`.
        value_positions: Position of each logged value of the record among all values that the run
            logs for the same operator.
        wraps: Whether these distances are modulo 2^32.
    """

    is_first: bool
    event_count: int
    origin: np.uint64
    value_positions: NDArray[np.int32]
    wraps: bool


@dataclass(frozen=True)
class Dumps:
    """All runs of some dumps, or some runs of one dump, or some events of one run.

    Attributes:
        heads: The dumps, and the positions of their runs.
        name: Name of each run.
        bundled_input_index: Bundled input index of each run.
        has_events: Whether each run has an event vector.
        layouts: Distinct layouts of runs.
        layout: Index in `layouts` per run; -1 without an event vector.
        signature_id: Run signature id per run; 0 without an event vector.
        counts: Profile events per run.
        stored: The runs in the order in which their profile events are stored.
        start: Start of each profile event as stored, each run's in file order.
        end: End of each profile event, likewise.
        extras: Contents of runs other than profile events.
        zero_is_no_end: Whether an end of 0 means that the event never ended.
        excerpt: Set if the record has one run and only some of its events.
    """

    heads: DumpHeaders
    name: Texts
    bundled_input_index: NDArray[np.int32]
    has_events: NDArray[np.bool_]
    layouts: list[Layout]
    layout: Ints
    signature_id: Ints
    counts: Ints
    stored: list[StoredRuns]
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    extras: Extras
    zero_is_no_end: bool = False
    excerpt: RunExcerpt | None = None


_NONE = np.zeros(0, np.int64)
NO_METADATA = Metadata(_NONE, _NONE, NO_TEXTS)


def collect_extras(run: Ints, runs: Runs) -> Extras:
    """The contents of runs, with their numbers in the record, other than profile events."""
    return Extras(
        run,
        runs.allocators,
        runs.allocations,
        runs.debugs,
        _collect_metadata(runs),
        runs.empty_event_run,
    )


def _collect_metadata(runs: Runs) -> Metadata:
    content = runs.profiles.metadata
    if not content.values:
        return NO_METADATA
    rows = np.flatnonzero(content.codes >= 0)
    counts, run = runs.profile_counts, runs.profiles.run[rows]
    place = rows - (np.cumsum(counts) - counts)[run]
    return Metadata(run, place, Texts(content.codes[rows], content.values))
