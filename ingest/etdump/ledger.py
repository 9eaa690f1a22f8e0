"""Running totals per dump of an arena, checked against the limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracehouse.ingest.etdump.arena import Arena, Fault, FaultyDumps, Ints
from tracehouse.ingest.etdump.columns import Runs, Texts
from tracehouse.ingest.etdump.layouts import Layout, SignatureBook
from tracehouse.ingest.etdump.limits import (
    MOST_SIGNATURE_EVENTS,
    MOST_SIGNATURE_TEXT,
    MOST_SIGNATURES,
    TOO_MANY_SIGNATURES,
    TOO_MUCH_TEXT,
    text_budget,
)


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
