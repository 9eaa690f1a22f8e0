"""Runs that log the same sequence of events share a layout; grouping happens once per layout. Pure.

Comparing sequences is exact: a hash only proposes which runs may be alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ingest.arena import Ints
from ingest.etdump import Runs
from ingest.signatures import (
    EventSignature,
    LoggedEvent,
    event_signature_id,
    group_events,
    run_signature_id,
)

_MIX = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xD6E8FEB86659FD93)


@dataclass
class SignatureBook:
    """All signatures seen in one call, by id, and the layouts already grouped."""

    events: dict[int, EventSignature] = field(default_factory=dict)
    runs: dict[int, tuple[bytes | None, int, list[int]]] = field(default_factory=dict)
    layouts: dict[tuple[LoggedEvent, ...], Layout] = field(default_factory=dict)

    def copy(self) -> SignatureBook:
        """Another book with the same content."""
        return SignatureBook(dict(self.events), dict(self.runs), dict(self.layouts))

    def layout(self, events: tuple[LoggedEvent, ...]) -> Layout:
        """The layout of a sequence of events, grouped once."""
        known = self.layouts.get(events)
        if known is None:
            grouped = group_events(events)
            ids = [event_signature_id(signature) for signature in grouped.signatures]
            self.events.update(zip(ids, grouped.signatures, strict=True))
            known = Layout(
                ids,
                np.array(grouped.rank, np.int64),
                np.array(grouped.occurrence, np.int32),
                np.array([event.chain for event in events if event.is_profile], np.int32),
            )
            self.layouts[events] = known
        return known

    def run_signature(self, name: bytes | None, index: int, layout: Layout) -> int:
        """Id of the run signature with this name, bundled input index and layout."""
        id_ = run_signature_id(name, layout.signature_ids, index)
        self.runs.setdefault(id_, (name, index, layout.signature_ids))
        return id_


@dataclass(frozen=True, eq=False)
class Layout:
    """Signature ids in order; per profile event its rank among them, occurrence and chain."""

    signature_ids: list[int]
    rank: Ints
    occurrence: NDArray[np.int32]
    chain: NDArray[np.int32]


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


@dataclass(frozen=True)
class _Entries:
    """Profile and debug events of all runs in file order, one column per identifying field."""

    run: Ints
    fields: NDArray[np.int64]
    texts: list[bytes]


def lay_out_runs(runs: Runs, book: SignatureBook) -> RunLayouts:
    """Find the layout and signature of every run, adding new ones to the book."""
    entries = _entries(runs)
    count = np.bincount(entries.run, minlength=len(runs.has_events))
    first = np.cumsum(count) - count
    model = _models(entries, first, count)
    index = np.full(len(model), -1, np.int64)
    layouts: list[Layout] = []
    for run in np.flatnonzero(np.bincount(model[runs.has_events])).tolist():
        rows = entries.fields[first[run] : first[run] + count[run]].tolist()
        index[run] = len(layouts)
        layouts.append(book.layout(tuple(_logged_event(row, entries.texts) for row in rows)))
    layout = np.where(runs.has_events, index[model], -1)
    return RunLayouts(layouts, layout, _run_signature_ids(runs, layouts, layout, book))


def _run_signature_ids(
    runs: Runs, layouts: list[Layout], layout: Ints, book: SignatureBook
) -> Ints:
    keys = np.column_stack([layout, runs.name.codes, runs.bundled_input_index])
    distinct, member = np.unique(keys, axis=0, return_inverse=True)
    ids = np.zeros(len(distinct), np.int64)
    for i, (index, name, bundled) in enumerate(distinct.tolist()):
        if index >= 0:
            text = runs.name.values[name] if name >= 0 else None
            ids[i] = book.run_signature(text, bundled, layouts[index])
    return ids[member]


def _entries(runs: Runs) -> _Entries:
    """Fields per entry: is_profile, name, chain, wrapped chain, instruction, ids, is_output."""
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
        is_profile = np.full(len(names), events is profiles)
        parts.append(
            np.column_stack(
                [is_profile, names, chain, events.instruction, events.delegate_int, ids, is_output]
            ).astype(np.int64)
        )
    run = np.concatenate([profiles.run, debugs.run])
    if not parts:
        return _Entries(run, np.zeros((0, 7), np.int64), texts)
    fields = np.concatenate(parts)
    if len(debugs.run):
        order = np.argsort(np.concatenate([profiles.event, debugs.event]), kind="stable")
        run, fields = run[order], fields[order]
    return _Entries(run, fields, texts)


def _models(entries: _Entries, first: Ints, count: Ints) -> Ints:
    """For each run a run with the same sequence of entries: the lowest, or the run itself."""
    position = np.arange(len(entries.run)) - first[entries.run]
    hashed = np.zeros(len(entries.run), np.uint64)
    for column in entries.fields.T:
        hashed = (hashed ^ column.view(np.uint64)) * _MIX
        hashed ^= hashed >> np.uint64(32)
    hashed *= position.astype(np.uint64) * _STEP + np.uint64(1)
    total = np.concatenate([[0], np.cumsum(hashed)]).astype(np.uint64)
    key = total[first + count] - total[first]
    _, lowest, member = np.unique(key, return_index=True, return_inverse=True)
    model = lowest[member]
    alike = count == count[model]
    twin = np.minimum(first[model][entries.run] + position, len(entries.run) - 1)
    differs = (entries.fields != entries.fields[twin]).any(axis=1)
    alike[entries.run[differs]] = False
    return np.where(alike, model, np.arange(len(model)))


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
