"""Dumps accepted into the inbox of a store, unless they are malformed or conflict."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracehouse.ingest.decode import check_headers
from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.records import Delivery
from tracehouse.warehouse.inbox.spools import Spool
from tracehouse.warehouse.load.content import describe_conflict, explain_refusal
from tracehouse.warehouse.load.stored_dumps import StoredDumps

ACCEPTED, INDEXED, CONFLICT = "accepted", "indexed", "conflict"


class Outcome(NamedTuple):
    """The result of a delivery.

    Attributes:
        state: ACCEPTED or INDEXED, or for a refused delivery CONFLICT or "refused".
        is_new: Whether the dump was written to the inbox.
        refusal: Why the delivery was refused; None if it was not.
        known_manifest: The conflicting manifest; empty without a conflict.
    """

    state: str
    is_new: bool = False
    refusal: Refusal | None = None
    known_manifest: str = ""


class Acceptor:
    """Accepts deliveries in any thread.

    Attributes:
        observe: Called with the duration of each write, in seconds.
        agree: Called with the name and SHA-256 of each known dump that comes with its manifest.
        groups: Number of calls of `accept`.
    """

    def __init__(self, inbox: Inbox, known: KnownDumps, notify: Callable[[int], object]) -> None:
        self._inbox, self._known, self._notify = inbox, known, notify
        self.observe: Callable[[float], None] = lambda _: None
        self.agree: Callable[[str, str], object] = lambda _, __: None
        self.groups = 0

    def accept(self, deliveries: Sequence[Delivery]) -> list[Outcome]:
        """Outcomes of deliveries, in order; new deliveries are on disk.

        Raises:
            StoreError: The inbox cannot be written.
        """
        outcomes = self._decide(deliveries)
        new = [one for one, found in zip(deliveries, outcomes, strict=True) if found.is_new]
        if new:
            start = time.perf_counter()
            self._inbox.accept_all(new)
            self.observe(time.perf_counter() - start)
            self._record(new)
        self.groups += 1
        return outcomes

    def accept_spooled(self, delivery: Delivery, spool: Spool) -> Outcome | None:
        """Turn the file of a large delivery into a separate log; None if that is impossible.

        Raises:
            StoreError: The inbox cannot be written.
        """
        (outcome,) = self._decide([delivery])
        if outcome.is_new:
            start = time.perf_counter()
            if not spool.become_log(delivery):
                return None
            self.observe(time.perf_counter() - start)
            self._record([delivery])
        return outcome

    def _record(self, deliveries: Sequence[Delivery]) -> None:
        for one in deliveries:
            self._known.accept(one.sha256, one.manifest, one.byte_count)
        self._notify(len(deliveries))

    def _decide(self, deliveries: Sequence[Delivery]) -> list[Outcome]:
        known = self._known.manifests([one.sha256 for one in deliveries])
        faults = check_headers([one.files[0] for one in deliveries])
        outcomes, earlier = [], set[str]()
        for index, one in enumerate(deliveries):
            if index in faults:
                refusal = Refusal(one.name, one.sha256, **vars(faults[index]))
                refusal = explain_refusal(refusal, one.files[0])._replace(manifest=one.manifest)
                outcomes.append(Outcome("refused", refusal=refusal))
                continue
            is_waiting = one.sha256 in earlier or self._known.is_waiting(one.sha256)
            outcome = _compare(one, known.get(one.sha256), is_waiting=is_waiting)
            if not (outcome.is_new or outcome.refusal):
                self.agree(one.name, one.sha256)
            outcomes.append(outcome)
            known.setdefault(one.sha256, one.manifest)
            earlier.add(one.sha256)
        return outcomes


def _compare(delivery: Delivery, known: str | None, *, is_waiting: bool) -> Outcome:
    """The outcome of a delivery; `known` is the manifest of its dump, if known."""
    if known is None:
        return Outcome(ACCEPTED, is_new=True)
    if known != delivery.manifest:
        detail = describe_conflict(delivery.sha256, delivery.manifest, known)
        manifest = delivery.manifest
        refusal = Refusal(delivery.name, delivery.sha256, CONFLICT, None, detail, manifest=manifest)
        return Outcome(CONFLICT, refusal=refusal, known_manifest=known)
    if len(delivery.files) > 1:  # its companions may be new
        return Outcome(ACCEPTED, is_new=True)
    return Outcome(ACCEPTED if is_waiting else INDEXED)


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
