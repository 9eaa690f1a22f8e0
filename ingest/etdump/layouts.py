"""Layouts: runs that log the same sequence of events are grouped into signatures only once. Pure.

Sequences are compared exactly; hashes only select candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import (
    MOST_PART_TEXT,
    MOST_SIGNATURES,
    TOO_MANY_SIGNATURES,
    TOO_MUCH_TEXT,
    Fault,
    FaultyDumps,
    Ints,
    text_budget,
)
from tracehouse.ingest.etdump.columns import (
    Entries,
    Runs,
    collect_entries,
    count_before,
    find_distinct,
    hash_rows,
)
from tracehouse.ingest.etdump.templates import TEMPLATES
from tracehouse.ingest.signatures import (
    EventSignature,
    LoggedEvent,
    RunLayout,
    event_signature_id,
    group_events,
    run_signature_id,
)

_FEW = 512  # events of a run; with more, distinct events are found first
_FEW_RUNS = 64  # fewer runs are compared in Python
_EVENT_BYTES = 160  # that an event of a cached layout takes, and its number in the layout
_NUMBER_BYTES = 16

_STEP = np.uint64(0xD6E8FEB86659FD93)
_NONE = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Layout:
    """The grouping of a run's events into signatures.

    Attributes:
        signature_ids: Ids of the signatures, in order.
        rank: Per profile event, the index of its signature in `signature_ids`.
        occurrence: Per profile event, how often its signature occurs before in the layout.
        chain: Per profile event, its chain.
        text_bytes: Bytes of the texts of all its signatures.
        earlier: For the layout of a piece of a run, how often each signature occurs in the run
            before the piece.
    """

    signature_ids: Ints
    rank: NDArray[np.integer]
    occurrence: NDArray[np.int32]
    chain: NDArray[np.int32]
    text_bytes: int
    earlier: Ints | None = None


@dataclass
class SignatureBook:
    """All signatures of some dumps, by id.

    Attributes:
        events: Event signatures.
        runs: Run signatures: name, bundled input index, ids of event signatures.
        text_bytes: Bytes of the texts of all event signatures.
        run_event_count: Ids in all run signatures.
    """

    events: dict[int, EventSignature] = field(default_factory=dict)
    runs: dict[int, tuple[bytes | None, int, Ints]] = field(default_factory=dict)
    text_bytes: int = 0
    run_event_count: int = 0
    _ids: dict[EventSignature, int] = field(default_factory=dict)

    def layout(
        self, dump: int, events: Sequence[LoggedEvent], codes: NDArray[np.int32], most_text: int
    ) -> Layout:
        """The layout of a sequence of events, grouped once.

        Args:
            dump: The dump of the events.
            events: The events, or, if `codes` is not empty, the distinct ones in order of first
                appearance.
            codes: For each event its index in `events`; or empty.
            most_text: Limit on the bytes of the signatures' texts.

        Raises:
            FaultyDumps: The texts exceed the limit.
        """
        key = (tuple(events), codes.tobytes())
        known = TEMPLATES.known.get(key)
        if known is None:
            grouped = group_events(key[0])
            text_bytes = sum(signature.text_bytes for signature in grouped.signatures)
            if text_bytes > most_text:
                raise FaultyDumps({dump: TOO_MUCH_TEXT})
            ids = [self._id(signature) for signature in grouped.signatures]
            known = _lay_out(key[0], codes, grouped, ids, text_bytes), grouped.signatures
            byte_count = _EVENT_BYTES * len(events) + _NUMBER_BYTES * len(codes) + text_bytes
            TEMPLATES.add(key, known, byte_count)
        layout, signatures = known
        if layout.text_bytes > most_text:
            raise FaultyDumps({dump: TOO_MUCH_TEXT})
        for id_, signature in zip(layout.signature_ids.tolist(), signatures, strict=True):
            if id_ not in self.events:
                self.events[id_] = signature
                self._ids[signature] = id_
                self.text_bytes += signature.text_bytes
        return layout

    def _id(self, signature: EventSignature) -> int:
        known = self._ids.get(signature)
        return event_signature_id(signature) if known is None else known

    def run_signature(self, name: bytes | None, index: int, layout: Layout) -> int:
        """Id of the run signature with this name, bundled input index and layout."""
        id_ = run_signature_id(name, layout.signature_ids, index)
        if id_ not in self.runs:
            self.runs[id_] = (name, index, layout.signature_ids)
            self.run_event_count += len(layout.signature_ids)
        return id_


@dataclass(frozen=True)
class RunLayouts:
    """Layouts of runs.

    Attributes:
        layouts: Distinct layouts.
        layout: Index in `layouts` per run; -1 for a run without an event vector.
        signature_id: Run signature id per run; 0 for a run without an event vector.
    """

    layouts: list[Layout]
    layout: Ints
    signature_id: Ints


def lay_out_runs(runs: Runs, book: SignatureBook, dump: Ints, sizes: Ints) -> RunLayouts:
    """Find the layout and signature of every run, adding new ones to the book.

    Raises:
        FaultyDumps: A run holds too many distinct events, or too much text in their signatures.
    """
    entries = collect_entries(runs)
    most_text = np.minimum(text_budget(sizes), MOST_PART_TEXT).tolist()
    count = np.bincount(entries.run, minlength=len(runs.has_events))
    first = np.cumsum(count) - count
    template = _find_templates(entries, first, count)
    index = np.full(len(template), -1, np.int64)
    layouts: list[Layout] = []
    faults: dict[int, Fault] = {}
    for run in np.flatnonzero(np.bincount(template[runs.has_events])).tolist():
        of, rows = int(dump[run]), slice(first[run], first[run] + count[run])
        index[run] = len(layouts)
        try:
            layouts.append(_lay_out_run(of, entries, rows, book, most_text[of]))
        except FaultyDumps as faulty:
            faults |= faulty.faults
    if faults:
        raise FaultyDumps(faults)
    layout = np.where(runs.has_events, index[template], -1)
    ids = _run_signature_ids(runs, dump, layouts, layout, book)
    return RunLayouts(layouts, layout, ids)


def _lay_out_run(
    dump: int, entries: Entries, rows: slice, book: SignatureBook, most_text: int
) -> Layout:
    """The layout of one run, whose entries are these rows.

    Raises:
        FaultyDumps: Too many of them are distinct, or the signatures hold too much text.
    """
    if rows.stop - rows.start <= _FEW:
        return book.layout(dump, entries.logged_events(rows), _NONE, most_text)
    chosen, codes = find_distinct(entries.fields[rows])
    if len(chosen) > MOST_SIGNATURES:
        raise FaultyDumps({dump: TOO_MANY_SIGNATURES})
    return book.layout(dump, entries.logged_events(rows.start + chosen), codes, most_text)


def _run_signature_ids(
    runs: Runs, dump: Ints, layouts: list[Layout], layout: Ints, book: SignatureBook
) -> Ints:
    distinct, member = _find_distinct_keys(layout, runs.name.codes, runs.bundled_input_index)
    if len(distinct) > 2 * MOST_SIGNATURES:  # a name may have two codes; an exact check follows
        owner = np.unique(member * (dump.max() + 1) + dump) % (dump.max() + 1)
        over = np.flatnonzero(np.bincount(owner) > 2 * MOST_SIGNATURES)
        if len(over):
            raise FaultyDumps(dict.fromkeys(over.tolist(), TOO_MANY_SIGNATURES))
    ids = np.zeros(len(distinct), np.int64)
    for i, (index, name, bundled) in enumerate(distinct):
        if index >= 0:
            text = runs.name.values[name] if name >= 0 else None
            ids[i] = book.run_signature(text, bundled, layouts[index])
    return ids[member]


def _find_distinct_keys(*columns: NDArray[np.integer]) -> tuple[list[list[int]], Ints]:
    """Distinct rows of the columns, ascending; and for each row the index of its equal."""
    if len(columns[0]) > _FEW_RUNS:
        found, member = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        return found.tolist(), member
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    number = {key: i for i, key in enumerate(sorted(set(keys)))}
    return [list(key) for key in number], np.array([number[key] for key in keys], np.int64)


def _find_templates(entries: Entries, first: Ints, count: Ints) -> Ints:
    """The template of each run: the first run with the same sequence of entries."""
    if len(count) == 1:
        return np.zeros(1, np.int64)
    if len(count) <= _FEW_RUNS:
        spans = zip(first.tolist(), (first + count).tolist(), strict=True)
        keys = [entries.fields[begin:end].tobytes() for begin, end in spans]
        known: dict[bytes, int] = {}
        return np.array([known.setdefault(key, run) for run, key in enumerate(keys)], np.int64)
    position = np.arange(len(entries.run)) - first[entries.run]
    hashed = hash_rows(list(entries.fields.T), len(position))
    hashed *= position.astype(np.uint64) * _STEP + np.uint64(1)
    total = np.concatenate([[0], np.cumsum(hashed)]).astype(np.uint64)
    key = total[first + count] - total[first]
    _, lowest, member = np.unique(key, return_index=True, return_inverse=True)
    template = lowest[member]
    alike = count == count[template]
    twin = np.minimum(first[template][entries.run] + position, len(entries.run) - 1)
    differs = (entries.fields != entries.fields[twin]).any(axis=1)
    alike[entries.run[differs]] = False
    return np.where(alike, template, np.arange(len(template)))


def _lay_out(
    events: tuple[LoggedEvent, ...],
    codes: NDArray[np.int32],
    grouped: RunLayout,
    signature_ids: list[int],
    text_bytes: int,
) -> Layout:
    ids = np.array(signature_ids, np.int64)
    rank = np.array(grouped.rank, np.int32)
    chain = np.array([event.chain for event in events if event.is_profile], np.int32)
    if not len(codes):
        occurrence = np.array(grouped.occurrence, np.int32)
        return Layout(ids, rank, occurrence, chain, text_bytes)
    is_profile = np.array([event.is_profile for event in events])
    row = (np.cumsum(is_profile) - 1)[codes[is_profile[codes]]]
    return Layout(ids, rank[row], count_before(rank[row]), chain[row], text_bytes)
