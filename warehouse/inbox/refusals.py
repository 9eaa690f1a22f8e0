"""Refusals of uploads that never came into the inbox, until the store has them on record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb

from tracehouse.ingest.dump import Refusal

MOST = 1000  # refusals on record at once; further ones are only counted
REFILL_SECONDS = 36.0  # time until there is room for another one: 100 an hour
LONGEST_DETAIL = 1000  # characters
LEFT_OUT = "left_out"  # reason of the record about refusals that are only counted

_CONFLICTS = "SELECT DISTINCT sha256 FROM ingest_errors WHERE reason = 'conflict'"
_FIRST_SUMMARY_SECONDS, _SUMMARY_SECONDS = 60.0, 3600.0  # until such a record; to the next one
_MOST_RECENT = 10 * MOST


def read_conflicts(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """SHA-256s of the conflicts that a store has on record."""
    return [sha256 for (sha256,) in connection.execute(_CONFLICTS).fetchall() if sha256]


class RefusalRecords(NamedTuple):
    """Refusals to record, and conflicts to settle: their sources and SHA-256s."""

    refusals: list[Refusal]
    settled: list[tuple[str, str]]


class RefusalQueue:
    """Takes refusals from any thread, and hands them to the thread that writes the store.

    No bytes of the files are kept, and the number of refusals is limited, so that nobody can fill
    the store with them. A repeated refusal is recorded once.
    """

    def __init__(
        self, conflicts: Iterable[str] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with the SHA-256s of the conflicts that the store has on record."""
        self._clock, self._lock = clock, threading.Lock()
        self._refusals: list[Refusal] = []
        self._settled: list[tuple[str, str]] = []
        self._conflicts = set(conflicts)
        self._recent: dict[tuple[object, ...], None] = {}
        self._room, self._filled_at = float(MOST), clock()
        self._left_out, self._summary_due = 0, 0.0

    def refuse(self, refusal: Refusal) -> None:
        """Put a refusal on record, unless there are too many."""
        kept = refusal._replace(
            data=None, detail=refusal.detail[:LONGEST_DETAIL], refused_at=datetime.now(UTC)
        )
        facts = kept[:5]  # all but the bytes and the time
        with self._lock:
            if facts in self._recent:
                return
            now = self._clock()
            self._room = min(MOST, self._room + (now - self._filled_at) / REFILL_SECONDS)
            self._filled_at = now
            if self._room < 1:
                self._summary_due = self._summary_due or now + _FIRST_SUMMARY_SECONDS
                self._left_out += 1
                return
            self._room -= 1
            assert 0 <= self._room <= MOST
            self._refusals.append(kept)
            self._recent[facts] = None
            if len(self._recent) > _MOST_RECENT:
                del self._recent[next(iter(self._recent))]
            if kept.reason == "conflict" and kept.sha256:
                self._conflicts.add(kept.sha256)

    def agree(self, source: str, sha256: str) -> None:
        """Note that a known dump came again with the manifest that the store has."""
        if sha256 in self._conflicts:
            with self._lock:
                self._settled.append((source, sha256))
                self._conflicts.discard(sha256)

    @contextmanager
    def drain(self) -> Iterator[RefusalRecords]:
        """What there is to record; after an error of the body, it stays in the queue."""
        with self._lock:
            taken = RefusalRecords(self._refusals + self._summary(), self._settled)
            self._refusals, self._settled = [], []
        try:
            yield taken
        except BaseException:
            with self._lock:
                self._refusals = taken.refusals + self._refusals
                self._settled = taken.settled + self._settled
            raise

    def _summary(self) -> list[Refusal]:
        """A record of the refusals that were only counted, from time to time."""
        now = self._clock()
        if not self._left_out or now < self._summary_due:
            return []
        count, self._left_out, self._summary_due = self._left_out, 0, now + _SUMMARY_SECONDS
        detail = f"{count:,} further uploads were refused; the service's audit.jsonl lists them"
        return [Refusal("uploads", None, LEFT_OUT, None, detail)]
