"""What decoded dumps hold, ready to become tables. Pure.

Both readers fill this record, that of ETDumps and that of profiler blobs; tables are made of
nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.etdump.arena import Ints
from ingest.etdump.columns import (
    NO_TEXTS,
    AllocationEvents,
    Allocators,
    DebugEvents,
    Heads,
    Runs,
    Texts,
)
from ingest.etdump.layouts import Layout


@dataclass(frozen=True)
class Stored:
    """Runs whose profile events stand side by side in `Dumps.start` and `Dumps.end`.

    Attributes:
        run: The runs, in the order in which their events stand there.
        is_uniform: Whether all of them have the layout of the first.
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
    """What some runs hold besides profile events.

    Attributes:
        run: Which of the record's runs they are; everything below counts them from 0.
        empty_event_run: Run of each event without any member.
    """

    run: Ints
    allocators: Allocators
    allocations: AllocationEvents
    debugs: DebugEvents
    metadata: Metadata
    empty_event_run: Ints


@dataclass(frozen=True)
class Cut:
    """A record that holds some events of one run: what is known of the whole run.

    Attributes:
        is_first: Whether the events are the run's first ones.
        event_count: Profile events in the run.
        origin: Earliest start in the run; 0 without profile events.
        value_positions: For each logged value of the record, its position among all values that
            the run logs for the same operator.
        wraps: Whether the run's clock has 32 bits and passed its limit within an event.
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
        heads: What comes before the runs.
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
        extras: What runs hold besides profile events.
        zero_is_no_end: Whether an end of 0 says that the event never ended.
        cut: Set where there is one run and not all of its events.
    """

    heads: Heads
    name: Texts
    bundled_input_index: NDArray[np.int32]
    has_events: NDArray[np.bool_]
    layouts: list[Layout]
    layout: Ints
    signature_id: Ints
    counts: Ints
    stored: list[Stored]
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    extras: Extras
    zero_is_no_end: bool = False
    cut: Cut | None = None


_NONE = np.zeros(0, np.int64)
NO_METADATA = Metadata(_NONE, _NONE, NO_TEXTS)


def collect_extras(run: Ints, runs: Runs) -> Extras:
    """What runs that were read in full hold besides profile events.

    Args:
        run: Index of each in the record.
        runs: What was read.
    """
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
