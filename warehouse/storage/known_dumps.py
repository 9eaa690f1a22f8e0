"""Which dumps a store that is open for writing has, or will have: asked for each that comes.

What the store has is looked up in it only if the start of its SHA-256 is known, which is held in
memory (eight bytes a dump); what was accepted and not yet indexed is held with its manifest.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_START_LETTERS = 16  # hexadecimal, of a SHA-256: 64 bits
_MOST_RECENT = 1 << 14  # that are searched one by one before they are sorted among the others

Manifests = Mapping[str, str]


class KnownDumps:
    """Dumps of a store and its inbox by SHA-256, for any thread."""

    def __init__(
        self, starts: NDArray[np.uint64], look_up: Callable[[Sequence[str]], Manifests]
    ) -> None:
        """Take what the store has.

        Args:
            starts: First 64 bits of the SHA-256 of each dump, sorted.
            look_up: Gives the manifests, as canonical JSON, of those of some dumps that it has.
        """
        self._starts, self._look_up = starts, look_up
        self._recent: set[int] = set()  # likewise, of those that were indexed since
        self._accepted: dict[str, tuple[str, int]] = {}  # manifest and size
        self._draining: dict[str, tuple[str, int]] = {}
        self._since, self._draining_since = 0.0, 0.0
        self._lock = threading.Lock()
        self._accepted_bytes, self._draining_bytes, self._drained_bytes = 0, 0, 0

    @property
    def backlog_bytes(self) -> int:
        """Size of what was accepted and is not yet indexed."""
        with self._lock:
            draining = max(self._draining_bytes - self._drained_bytes, 0)
            return self._accepted_bytes + draining

    @property
    def backlog_dumps(self) -> int:
        """Number of dumps that were accepted and are not yet indexed."""
        return len(self._accepted) + len(self._draining)

    @property
    def lag_seconds(self) -> float:
        """How long ago the oldest of these was accepted; 0 without any."""
        with self._lock:
            since = self._draining_since if self._draining else self._since
            waits = bool(self._draining or self._accepted)
        return time.monotonic() - since if waits else 0.0

    def manifests(self, hashes: Sequence[str]) -> dict[str, str]:
        """The manifests, as canonical JSON, of those of some dumps that are known."""
        with self._lock:
            found = {
                sha256: known[0]
                for sha256 in hashes
                if (known := self._accepted.get(sha256) or self._draining.get(sha256))
            }
            likely = [sha256 for sha256 in hashes if sha256 not in found and self._may_have(sha256)]
        if likely:
            found.update(self._look_up(likely))
        return found

    def is_waiting(self, sha256: str) -> bool:
        """Whether a dump was accepted and is not yet indexed."""
        if sha256 in self._accepted:
            return True
        # Of those that are being indexed some are stored already.
        return sha256 in self._draining and not self._look_up([sha256])

    def accept(self, sha256: str, manifest: str, byte_count: int) -> None:
        """Take note of a dump that is in the inbox."""
        with self._lock:
            if not self._accepted:
                self._since = time.monotonic()
            if sha256 not in self._accepted:  # else the same with another file beside it
                self._accepted_bytes += byte_count
                self._accepted[sha256] = sys.intern(manifest), byte_count

    def begin_draining(self) -> None:
        """Take note that what is in the inbox by now is being indexed."""
        with self._lock:
            if not self._draining:
                self._draining_since = self._since
            self._draining |= self._accepted
            self._accepted = {}
            self._draining_bytes += self._accepted_bytes
            self._accepted_bytes = self._drained_bytes = 0

    def note_drained(self, byte_count: int) -> None:
        """Take note that of what is being indexed, this much is by now."""
        with self._lock:
            self._drained_bytes = byte_count

    def end_draining(self) -> None:
        """Take note that it is: it is in the store, or refused."""
        with self._lock:
            self._recent.update(map(_start_of, self._draining))
            self._draining = {}
            self._draining_bytes = self._drained_bytes = 0
            if len(self._recent) > _MOST_RECENT:
                recent = np.sort(np.fromiter(self._recent, np.uint64, len(self._recent)))
                places = self._starts.searchsorted(recent)
                self._starts = np.insert(self._starts, places, recent)
                self._recent = set()

    def _may_have(self, sha256: str) -> bool:
        start = _start_of(sha256)
        if start in self._recent:
            return True
        at = int(self._starts.searchsorted(np.uint64(start)))
        return at < len(self._starts) and int(self._starts[at]) == start


def _start_of(sha256: str) -> int:
    return int(sha256[:_START_LETTERS], 16)
