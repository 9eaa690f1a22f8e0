"""The contents of decoded dumps, from which tables are built. Pure.

The readers of ETDumps and of profiler blobs both produce these records, and check the totals of a
dump against its limits in a `Ledger`.

The starts of a run's events are stored relative to its origin: the earliest start, by signed
distances from the run's first event. If the clock of a run has 32 bits and passes its limit,
distances are modulo 2^32, and readings after the limit are restored less 2^32. A run that is not
so, but would be stored like one that is, gets the origin 0: then its distances are its readings, of
which some are 2^32 or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import (
    MOST_SIGNATURE_EVENTS,
    MOST_SIGNATURE_TEXT,
    MOST_SIGNATURES,
    TOO_MANY_SIGNATURES,
    TOO_MUCH_TEXT,
    Arena,
    Fault,
    FaultyDumps,
    Ints,
    Mask,
    text_budget,
)
from tracehouse.ingest.etdump.columns import (
    NO_TEXTS,
    AllocationEvents,
    Allocators,
    DebugEvents,
    DumpHeaders,
    Runs,
    Texts,
)
from tracehouse.ingest.etdump.layouts import Layout, SignatureBook

UINT32_MAX = np.uint64(2**32 - 1)
_HALF = np.uint64(2**31)


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


class Origins(NamedTuple):
    """The origins of runs.

    Attributes:
        earliest: The earliest start of each run.
        is_modulo: Whether distances are modulo 2^32.
        is_doubtful: Whether the origin is 0 if any event `may_be_first` of a modular run.
    """

    earliest: NDArray[np.uint64]
    is_modulo: Mask
    is_doubtful: Mask


def find_origins(
    first: NDArray[np.uint64],
    lowest: Ints,
    *,
    lowest_32: Ints,
    highest: NDArray[np.uint64],
    has_wrap: Mask,
) -> Origins:
    """The origins of runs, but for those that are doubtful; one item per run with events.

    Args:
        first: Start of the run's first event.
        lowest: Lowest start relative to it, as a signed number.
        lowest_32: The same modulo 2^32.
        highest: Highest start.
        has_wrap: Whether an event ends before it starts, below 2^32: its 32-bit clock wrapped.
    """
    is_modulo: Mask = has_wrap & (highest <= UINT32_MAX)
    earliest = first + lowest.view(np.uint64)
    is_doubtful = has_wrap & ~is_modulo & (earliest <= UINT32_MAX)
    is_doubtful &= highest - earliest <= UINT32_MAX
    earliest_32 = (first + lowest_32.view(np.uint64)) & UINT32_MAX
    return Origins(np.where(is_modulo, earliest_32, earliest), is_modulo, is_doubtful)


def may_be_first(
    offset: NDArray[np.uint64], farthest: NDArray[np.uint64] | np.uint64
) -> NDArray[np.bool_]:
    """Whether each event can be the first of a run with distances modulo 2^32, by its own.

    All others are less than 2^31 after it and at most 2^31 before it. `farthest` is the largest
    distance in its run, below 2^32.
    """
    may_be: NDArray[np.bool_] = (offset <= _HALF) & (farthest - offset < _HALF)
    return may_be


class Ledger:
    """Running totals of the dumps of an arena.

    Attributes:
        sizes: Bytes of each dump.
        visited: Bytes read of each dump, counted at every visit.
    """

    def __init__(self, arena: Arena, visited: Ints) -> None:
        self.sizes: Ints = arena.hi - arena.lo
        self.visited = visited
        self._text: Ints = np.zeros(len(self.sizes), np.int64)

    def charge_text(self, dump: Ints, byte_counts: Ints) -> None:
        """Add `byte_counts[i]` bytes of repeated text for dump `dump[i]`.

        Raises:
            FaultyDumps: A dump exceeds its limit.
        """
        if not len(dump):
            return
        self._text += np.bincount(dump, byte_counts, len(self._text)).astype(np.int64)
        _refuse(np.flatnonzero(self._text > text_budget(self.sizes)), TOO_MUCH_TEXT)

    def check_signatures(
        self, dump: Ints, layouts: Sequence[Layout], layout: Ints, signature_id: Ints,
        book: SignatureBook,
    ) -> None:  # fmt: skip
        """Check the number of signatures.

        Args:
            dump: Dump of each run, ascending.
            layouts: Distinct layouts.
            layout: Index in `layouts` per run; -1 for a run without one.
            signature_id: Signature of each run.
            book: Signatures of all runs of the arena so far, whose totals usually suffice.

        Raises:
            FaultyDumps: A dump has too many.
        """
        if len(self.sizes) == 1:
            if _exceeds_limits(len(book.events), len(book.runs), book.run_event_count):
                raise FaultyDumps({0: TOO_MANY_SIGNATURES})
            if book.text_bytes > MOST_SIGNATURE_TEXT:
                raise FaultyDumps({0: TOO_MUCH_TEXT})
            return
        if not _exceeds_limits(len(book.events), len(book.runs), book.run_event_count):
            return
        lengths = np.array([len(one.signature_ids) for one in layouts] + [0])[layout]
        most = min(MOST_SIGNATURES, MOST_SIGNATURE_EVENTS)
        suspects = np.bincount(dump, lengths + 1, len(self.sizes)) > most
        over = []
        for suspect in np.flatnonzero(suspects).tolist():
            runs = slice(*np.searchsorted(dump, [suspect, suspect + 1]))
            own = np.unique(layout[runs])
            events = np.concatenate([layouts[i].signature_ids for i in own[own >= 0].tolist()])
            signatures, first = np.unique(signature_id[runs], return_index=True)
            run_events = int(lengths[runs][first].sum())
            if _exceeds_limits(len(np.unique(events)), len(signatures), run_events):
                over.append(suspect)
        _refuse(np.array(over), TOO_MANY_SIGNATURES)


def repeated_text(runs: Runs) -> tuple[Ints, Ints]:
    """Texts that table rows repeat: names of allocators and of logged values.

    Returns:
        The run of each item, and the bytes that its rows repeat. An item is an allocation (one
        row) or a debug event (one row per tensor).
    """
    allocations, debugs = runs.allocations, runs.debugs
    if not len(allocations.run) and not len(debugs.run):  # as in most dumps
        return debugs.run, debugs.run
    counts = np.maximum(np.bincount(debugs.values.tensor_event, minlength=len(debugs.run)), 1)
    names = _lengths(debugs.name) + _lengths(debugs.delegate_str)
    owners = np.concatenate([allocations.run, debugs.run])
    return owners, np.concatenate([_lengths(allocations.name), names * counts])


def _lengths(texts: Texts) -> Ints:
    lengths = np.array([len(text) for text in texts.values] + [0], np.int64)
    return lengths[texts.codes]


def _exceeds_limits(events: int, runs: int, run_events: int) -> bool:
    return max(events, runs) > MOST_SIGNATURES or run_events > MOST_SIGNATURE_EVENTS


def _refuse(dumps: Ints, fault: Fault) -> None:
    if len(dumps):
        raise FaultyDumps(dict.fromkeys(dumps.tolist(), fault))
