"""New dumps accepted into the inbox of a store, unless they are no dumps or conflict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.dump import Refusal
from ingest.file_magic import check_file_magic
from warehouse.inbox.inbox import Inbox
from warehouse.inbox.known import KnownDumps
from warehouse.inbox.records import Delivery
from warehouse.inbox.spools import Spool
from warehouse.load.faults import DumpFault, describe_conflict, explain_fault

ACCEPTED, INDEXED, CONFLICT = "accepted", "indexed", "conflict"


class Outcome(NamedTuple):
    """What became of a delivery.

    Attributes:
        state: ACCEPTED or INDEXED; CONFLICT or "refused" if it was refused.
        is_new: Whether it was written to the inbox.
        refusal: Why it was refused.
        known_manifest: The manifest that it conflicts with.
    """

    state: str
    is_new: bool = False
    refusal: Refusal | None = None
    known_manifest: str = ""


class Acceptor:
    """Accepts deliveries in any thread.

    Attributes:
        observe: Called with the seconds that each write took.
        groups: Writes of small deliveries so far.
    """

    def __init__(self, inbox: Inbox, known: KnownDumps, given: Callable[[int], object]) -> None:
        """Take an inbox, what is known, and what to call with the number of each write's dumps."""
        self._inbox, self._known, self._given = inbox, known, given
        self.observe: Callable[[float], None] = lambda _: None
        self.groups = 0

    def accept(self, deliveries: Sequence[Delivery]) -> list[Outcome]:
        """What became of deliveries; those that are new are on disk.

        Raises:
            StoreError: They cannot be written.
        """
        outcomes = self._judge(deliveries)
        new = [one for one, found in zip(deliveries, outcomes, strict=True) if found.is_new]
        if new:
            start = time.perf_counter()
            self._inbox.accept_all(new)
            self.observe(time.perf_counter() - start)
            self._record(new)
        self.groups += 1
        return outcomes

    def accept_spooled(self, delivery: Delivery, spool: Spool) -> Outcome | None:
        """Make the file of a large delivery a log of its own; None if it cannot be one.

        Raises:
            StoreError: It cannot be written.
        """
        (outcome,) = self._judge([delivery])
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
        self._given(len(deliveries))

    def _judge(self, deliveries: Sequence[Delivery]) -> list[Outcome]:
        known = self._known.manifests([one.sha256 for one in deliveries])
        faults = check_file_magic([one.files[0] for one in deliveries])
        outcomes, met = [], set[str]()
        for index, one in enumerate(deliveries):
            if index in faults:
                outcomes.append(_refuse(one, DumpFault(**vars(faults[index]))))
                continue
            is_waiting = one.sha256 in met or self._known.is_waiting(one.sha256)
            outcomes.append(_compare(one, known.get(one.sha256), is_waiting=is_waiting))
            known.setdefault(one.sha256, one.manifest)
            met.add(one.sha256)
        return outcomes


def _compare(delivery: Delivery, known: str | None, *, is_waiting: bool) -> Outcome:
    """Whether a delivery is new, given the known manifest of its dump."""
    if known is None:
        return Outcome(ACCEPTED, is_new=True)
    if known != delivery.manifest:
        detail = describe_conflict(delivery.sha256, delivery.manifest, known)
        refusal = Refusal(delivery.name, delivery.sha256, CONFLICT, None, detail)
        return Outcome(CONFLICT, refusal=refusal, known_manifest=known)
    if len(delivery.files) > 1:  # a companion may come with it that did not come before
        return Outcome(ACCEPTED, is_new=True)
    return Outcome(ACCEPTED if is_waiting else INDEXED)


def _refuse(delivery: Delivery, fault: DumpFault) -> Outcome:
    verdict = explain_fault(fault, delivery.name, delivery.files[0])
    return Outcome("refused", refusal=Refusal(delivery.name, delivery.sha256, *verdict))
