"""The known dumps of a store: those stored, and those in its inbox."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

from tracehouse.warehouse.load.stored_dumps import StoredDumps


class KnownDumps:
    """Dumps of a store and of its inbox by SHA-256, for any thread.

    Accepted dumps are held in memory with manifests and sizes; stored dumps are looked up.
    """

    def __init__(self, stored: StoredDumps) -> None:
        self._stored = stored
        self._accepted: dict[str, tuple[str, int]] = {}
        self._draining: dict[str, tuple[str, int]] = {}
        self._since, self._draining_since = 0.0, 0.0
        self._lock = threading.Lock()
        self._accepted_bytes, self._draining_bytes, self._drained_bytes = 0, 0, 0

    @property
    def backlog_bytes(self) -> int:
        """Bytes of the dumps that were accepted and are not yet indexed."""
        with self._lock:
            draining = max(self._draining_bytes - self._drained_bytes, 0)
            return self._accepted_bytes + draining

    @property
    def backlog_dumps(self) -> int:
        """Number of dumps that were accepted and are not yet indexed."""
        return len(self._accepted) + len(self._draining)

    @property
    def lag_seconds(self) -> float:
        """Seconds since the oldest dump of the backlog was accepted; 0 without a backlog."""
        with self._lock:
            since = self._draining_since if self._draining else self._since
            waits = bool(self._draining or self._accepted)
        return time.monotonic() - since if waits else 0.0

    def manifests(self, hashes: Sequence[str]) -> dict[str, str]:
        """Manifests of the known dumps among these, as canonical JSON, by SHA-256."""
        with self._lock:
            found = {
                sha256: known[0]
                for sha256 in hashes
                if (known := self._accepted.get(sha256) or self._draining.get(sha256))
            }
        others = [sha256 for sha256 in hashes if sha256 not in found]
        return {**self._stored.manifests(others), **found} if others else found

    def is_waiting(self, sha256: str) -> bool:
        """Whether a dump was accepted and is not yet indexed."""
        if sha256 in self._accepted:
            return True
        # Some of the dumps that are being indexed may be stored already.
        return sha256 in self._draining and not self._stored.look_up([sha256])

    def accept(self, sha256: str, manifest: str, byte_count: int) -> None:
        """Record that a dump is in the inbox."""
        with self._lock:
            if not self._accepted:
                self._since = time.monotonic()
            if (
                sha256 not in self._accepted
            ):  # else the same dump arrives again, with another companion
                self._accepted_bytes += byte_count
                self._accepted[sha256] = sys.intern(manifest), byte_count

    def begin_draining(self) -> None:
        """Record that indexing of the dumps in the inbox begins."""
        with self._lock:
            if not self._draining:
                self._draining_since = self._since
            assert self._accepted_bytes == 0 or self._accepted, "bytes belong to accepted dumps"
            self._draining |= self._accepted
            self._accepted = {}
            self._draining_bytes += self._accepted_bytes
            self._accepted_bytes = self._drained_bytes = 0

    def note_drained(self, byte_count: int) -> None:
        """Record the number of indexed bytes that are in the store by now."""
        with self._lock:
            self._drained_bytes = byte_count

    def end_draining(self) -> None:
        """Record that indexing has ended: the dumps are in the store, or refused."""
        with self._lock:
            self._draining = {}
            self._draining_bytes = self._drained_bytes = 0
