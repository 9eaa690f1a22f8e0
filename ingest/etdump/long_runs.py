"""Runs too large to be read at once: surveyed first, then read again in parts. Pure.

The signatures of a run's events and the earliest start are known only after its last event. The
survey keeps one number per event; everything else is read again for each part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import (
    EVENT_TOO_LARGE,
    MOST_EVENT_BYTES,
    MOST_PART_TEXT,
    MOST_SIGNATURES,
    PART_BYTES,
    PART_EVENTS,
    TOO_MANY_SIGNATURES,
    TOO_MUCH_TEXT,
    Arena,
    FaultyDumps,
    Ints,
    PartTooLarge,
    Scope,
)
from tracehouse.ingest.etdump.columns import (
    DumpHeaders,
    RunHeaders,
    Runs,
    collect_entries,
    count_before,
    find_distinct,
)
from tracehouse.ingest.etdump.dumps import (
    UINT32_MAX,
    Dumps,
    Ledger,
    RunExcerpt,
    StoredRuns,
    collect_extras,
    find_origins,
    may_be_first,
    repeated_text,
)
from tracehouse.ingest.etdump.flatbuffer import read_vectors
from tracehouse.ingest.etdump.layouts import Layout, SignatureBook
from tracehouse.ingest.etdump.schema import read_events, read_run_headers
from tracehouse.ingest.signatures import LoggedEvent

_ZERO = np.zeros(1, np.int64)


@dataclass(frozen=True)
class _Run:
    """A run whose events are not read yet: its own table, and the position of its event list."""

    head: RunHeaders
    first_item: int
    event_count: int

    @property
    def scope(self) -> Scope:
        return self.head.tables.scope

    def read(self, begin: int, end: int) -> Runs:
        """Its events from `begin` to `end`."""
        self.scope.tables.clear()
        owner = np.zeros(end - begin, np.int64)
        words = self.scope.follow(self.first_item + np.arange(begin, end), owner)
        return read_events(self.head, words, owner, np.arange(begin, end))


@dataclass
class _Survey:
    """The result of the first pass over the events.

    Attributes:
        spans: Ranges of events that can be read at once.
        known: Distinct events and their numbers, in order of first appearance.
        profiles, debugs: Number of each profile and each debug event, one array per span.
        first: Start of the first profile event.
        lowest: Lowest start relative to it.
        lowest_32: The same modulo 2^32.
        highest: Highest start.
        has_wrap: Whether an event ends before it starts, below 2^32.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    known: dict[LoggedEvent, int] = field(default_factory=dict)
    profiles: list[NDArray[np.int32]] = field(default_factory=list)
    debugs: list[NDArray[np.int32]] = field(default_factory=list)
    first: np.uint64 | None = None
    lowest: int = 0
    lowest_32: int = 0
    highest: int = 0
    has_wrap: bool = False


def read_long_run(
    arena: Arena, heads: DumpHeaders, book: SignatureBook, ledger: Ledger
) -> Iterator[Dumps]:
    """Read and verify one run of a single dump, then yield its events in parts.

    Yields:
        Parts of the run, at least one, in order of its events.

    Raises:
        FaultyDumps: The run is malformed, or exceeds a limit.
    """
    run = _open(arena, heads, ledger)
    survey = _survey(run, ledger)
    ledger.visited = run.scope.visited
    numbers = np.concatenate(survey.profiles)
    layout = book.layout(0, list(survey.known), numbers, MOST_PART_TEXT)
    ledger.charge_text(_ZERO, np.array([layout.text_bytes]))
    id_ = 0
    if run.head.has_events[0]:
        name = run.head.name
        text = name.values[name.codes[0]] if name.codes[0] >= 0 else None
        id_ = book.run_signature(text, int(run.head.bundled_input_index[0]), layout)
    ledger.check_signatures(_ZERO, [layout], _ZERO, np.array([id_]), book)
    afresh = Scope.of_dumps(arena, heads.run_dump)  # everything has been charged already
    again = replace(run, head=replace(run.head, tables=replace(run.head.tables, scope=afresh)))
    yield from _yield_parts(again, heads, survey, layout, id_)


def _open(arena: Arena, heads: DumpHeaders, ledger: Ledger) -> _Run:
    scope = Scope.of_dumps(arena, heads.run_dump)
    scope.charge(ledger.visited)
    scope.allow(MOST_EVENT_BYTES)
    try:
        head = read_run_headers(scope, heads.run_word)
    except PartTooLarge:
        raise FaultyDumps({0: EVENT_TOO_LARGE}) from None
    scope.allow(len(arena.u8))
    _, vectors, owner = head.tables.refs(3)
    length = read_vectors(scope, vectors, owner, 4)
    if not len(vectors):
        return _Run(head, 0, 0)
    return _Run(head, int(vectors[0]) + 1, int(length[0]))


def _survey(run: _Run, ledger: Ledger) -> _Survey:
    survey = _Survey()
    begin, step = 0, PART_EVENTS
    while begin < run.event_count or not survey.spans:
        end = min(begin + step, run.event_count)
        runs = _read_span(run, begin, end, ledger)
        if runs is None:
            step = (end - begin) // 2
            continue
        _note(survey, runs)
        survey.spans.append((begin, end))
        begin, step = end, min(2 * step, PART_EVENTS)
    return survey


def _read_span(run: _Run, begin: int, end: int, ledger: Ledger) -> Runs | None:
    """Events of the run, charged to the ledger; None if they are too many.

    Raises:
        FaultyDumps: An event is malformed, or a single event exceeds a limit.
    """
    scope = run.scope
    visited = scope.visited.copy()
    scope.allow(PART_BYTES if end - begin > 1 else MOST_EVENT_BYTES)
    try:
        runs = run.read(begin, end)
    except PartTooLarge:
        if end - begin <= 1:
            raise FaultyDumps({0: EVENT_TOO_LARGE}) from None
        scope.visited = visited
        return None
    _, text = repeated_text(runs)
    if text.sum() > MOST_PART_TEXT:
        if end - begin <= 1:
            raise FaultyDumps({0: TOO_MUCH_TEXT})
        scope.visited = visited
        return None
    ledger.charge_text(_ZERO, np.array([text.sum()]))
    return runs


def _note(survey: _Survey, runs: Runs) -> None:
    entries = collect_entries(runs)
    chosen, codes = find_distinct(entries.fields)
    known = survey.known
    distinct = [known.setdefault(event, len(known)) for event in entries.logged_events(chosen)]
    if len(known) > MOST_SIGNATURES:
        raise FaultyDumps({0: TOO_MANY_SIGNATURES})
    numbers = np.array(distinct, np.int32)[codes]
    is_profile = entries.fields[:, 0] > 0
    survey.profiles.append(numbers[is_profile])
    survey.debugs.append(numbers[~is_profile])
    start = runs.profiles.start
    if len(start):
        survey.first = start[0] if survey.first is None else survey.first
        ticks = (start - survey.first).view(np.int64)
        survey.lowest = min(survey.lowest, int(ticks.min()))
        survey.lowest_32 = min(survey.lowest_32, int(ticks.astype(np.int32).min()))
        survey.highest = max(survey.highest, int(start.max()))
        wraps = (runs.profiles.end < start) & (start <= UINT32_MAX)
        survey.has_wrap |= bool(wraps.any())


def _find_origin(run: _Run, survey: _Survey) -> tuple[np.uint64, bool]:
    """What starts of the run are relative to, and whether modulo 2^32, as in `unwrap_starts`."""
    highest = np.array([survey.highest], np.uint64)
    found = find_origins(
        np.array([survey.first or 0], np.uint64),
        np.array([survey.lowest]),
        lowest_32=np.array([survey.lowest_32]),
        highest=highest,
        has_wrap=np.array([survey.has_wrap]),
    )
    earliest = found.earliest[0]
    if found.is_doubtful[0]:  # as in hardly any dump: its events are read once more
        starts = (run.read(*span).profiles.start for span in survey.spans)
        if any(may_be_first(start - earliest, highest[0] - earliest).any() for start in starts):
            return np.uint64(0), False
    return earliest, bool(found.is_modulo[0])


def _value_positions(survey: _Survey) -> NDArray[np.int32]:
    """Position of each logged value among all values of the run for the same operator."""
    operators: dict[tuple[object, ...], int] = {}
    operator = [operators.setdefault(tuple(event[2:]), len(operators)) for event in survey.known]
    return count_before(np.array(operator, np.int32)[np.concatenate(survey.debugs)])


def _yield_parts(
    run: _Run, heads: DumpHeaders, survey: _Survey, layout: Layout, id_: int
) -> Iterator[Dumps]:
    positions = _value_positions(survey)
    profile_ends = np.cumsum([len(numbers) for numbers in survey.profiles])
    debug_ends = np.cumsum([len(numbers) for numbers in survey.debugs])
    earlier: Ints = np.zeros(len(layout.signature_ids), np.int64)
    origin, is_modulo = _find_origin(run, survey)
    has_events = run.head.has_events
    for i, span in enumerate(survey.spans):
        runs = run.read(*span)
        count = len(survey.profiles[i])
        here = slice(profile_ends[i] - count, profile_ends[i])
        rank = layout.rank[here]
        occurrence = (layout.occurrence[here] - earlier[rank]).astype(np.int32)
        piece = replace(
            layout, rank=rank, occurrence=occurrence, chain=layout.chain[here], earlier=earlier
        )
        earlier = earlier + np.bincount(rank, minlength=len(earlier))
        logged = slice(debug_ends[i] - len(survey.debugs[i]), debug_ends[i])
        excerpt = RunExcerpt(i == 0, len(layout.rank), origin, positions[logged], is_modulo)
        yield Dumps(
            heads=heads,
            name=run.head.name,
            bundled_input_index=run.head.bundled_input_index,
            has_events=has_events,
            layouts=[piece],
            layout=np.where(has_events, 0, -1),
            signature_id=np.array([id_]),
            counts=np.array([count]),
            stored=[StoredRuns(_ZERO, is_uniform=False)],
            start=runs.profiles.start,
            end=runs.profiles.end,
            extras=collect_extras(_ZERO, runs),
            excerpt=excerpt,
        )
