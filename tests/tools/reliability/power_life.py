"""A life of a store whose power is cut: what is done with it, what is noted, what must be left.

Before something is done to a dump and after it a word on it is put down: what is being done may be
there or not, what was done must be.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from tests.support.tiny_dumps import tiny_dump, tiny_dump_events, tiny_incoming
from tests.tools.reliability.judge import describe_problems, judge_store
from tracehouse import Inbox, Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.rewriting import merge_segments
from tracehouse.warehouse.errors import DamagedStoreError, WarehouseError
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import ChosenDump, choose_dumps
from tracehouse.warehouse.upkeep.compact import compact_store
from tracehouse.warehouse.upkeep.forget import finish_forgetting, forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

DUMPS = 6  # handed over together
ACTIONS = 7  # in a life of a store
MOST_DUMPS = 1_000
CORRECTION = "device.os=Linux"

Marks = defaultdict[str, set[str]]  # words on dumps, by SHA-256


class Life:
    """Actions on a store, in an order that a seed chooses."""

    def __init__(self, store: Path, marks: Path, seed: int) -> None:
        """Begin with no store."""
        self.store = store
        self._marks = os.open(marks, os.O_WRONLY | os.O_CREAT)
        self._random = random.Random(seed)  # noqa: S311 - for choosing an order
        self._number = 0
        self._ingested: list[str] = []

    def live(self, count: int) -> None:
        """Do so many actions, at most `ACTIONS`."""
        with Warehouse.open_to_write(self.store, create=True) as warehouse:
            self._ingest(warehouse)
        for action in self.draw_actions()[:count]:
            with suppress(WarehouseError):  # of a disk that fails
                action()

    def draw_actions(self) -> list[Callable[[], None]]:
        """What is done, in order; each life lacks some kinds of upkeep, and repeats others."""
        kinds = (self._drop, self._amend, self._forget, self._make_anew)
        upkeep = [kind for kind in kinds if self._random.random() < 0.5] or [self._work]
        actions = [self._random.choice(upkeep) if n % 2 else self._work for n in range(ACTIONS)]
        self._random.shuffle(actions)
        return actions

    def _work(self) -> None:
        """Ingest and hand over, in several threads, while the inbox is drained."""
        with Warehouse.open_to_write(self.store) as warehouse, Inbox.open(self.store) as inbox:
            for _ in range(self._random.randint(1, 3)):
                threads = [Thread(target=self._hand_over, args=(inbox, self._next())) for _ in "ab"]
                for thread in threads:
                    thread.start()
                warehouse.drain()
                self._ingest(warehouse)
                for thread in threads:
                    thread.join()
            if self._random.random() < 0.5:
                warehouse.drain()
            self._random.choice((warehouse.snapshot, self._merge))()

    def _make_anew(self) -> None:
        """Write the DuckDB file anew."""
        self._random.choice((rebuild_store, compact_store))(self.store)

    def _merge(self) -> None:
        merge_segments(Archive(self.store))

    def _drop(self) -> None:
        """Drop the events of all dumps."""
        with Warehouse.open_to_write(self.store) as warehouse:
            old = find_old_events(warehouse.writing, days=0)
            with self._marking("dropping", "dropped", old["sha256"].to_pylist()):
                drop_old_events(warehouse.writing, self.store, old)

    def _amend(self) -> None:
        """Correct the manifests of some dumps."""
        with Warehouse.open_to_write(self.store) as warehouse:
            chosen = self._choose(warehouse)
            stated = parse_corrections([CORRECTION])
            planned = plan_amendments(warehouse.writing, chosen, stated)
            with self._marking("amending", "amended", [one.sha256 for one in chosen]):
                amend_manifests(warehouse.writing, self.store, planned)

    def _forget(self) -> None:
        """Forget some dumps for good."""
        with Warehouse.open_to_write(self.store) as warehouse:
            chosen = self._choose(warehouse)
            hashes = [one.sha256 for one in chosen]
            self._ingested = [one for one in self._ingested if one not in hashes]
            with self._marking("forgetting", "forgotten", hashes):
                forget_dumps(warehouse.writing, self.store, chosen)
        finish_forgetting(lambda: compact_store(self.store))

    def _choose(self, warehouse: Warehouse) -> list[ChosenDump]:
        hashes = self._random.sample(self._ingested, 2)
        return [choose_dumps(warehouse.writing, prefix=one)[0] for one in hashes]

    def _ingest(self, warehouse: Warehouse) -> None:
        numbers = self._next()
        warehouse.ingest([tiny_incoming(number) for number in numbers])
        hashes = [_hash(number) for number in numbers]
        self._ingested += hashes
        self._mark("in", hashes)

    def _hand_over(self, inbox: Inbox, numbers: Sequence[int]) -> None:
        for number in numbers:
            with suppress(WarehouseError):  # of a disk that fails
                self._mark("in", [inbox.accept(tiny_incoming(number))])

    def _next(self) -> range:
        self._number += DUMPS
        return range(self._number - DUMPS, self._number)

    @contextmanager
    def _marking(self, before: str, after: str, hashes: Sequence[str]) -> Iterator[None]:
        self._mark(before, hashes)
        yield
        self._mark(after, hashes)

    def _mark(self, word: str, hashes: Iterable[str]) -> None:
        os.write(self._marks, "".join(f"{word} {sha256}\n" for sha256 in hashes).encode())


def read_marks(known: Marks, marks: bytes) -> None:
    """Add the marks that a process wrote."""
    for line in marks.decode().splitlines():
        word, sha256 = line.split()
        known[sha256].add(word)


def recover(store: Path, *, create: bool) -> str:
    """Make a store ready that is left: opened, or rebuilt."""
    outcome = "opened"
    try:
        Warehouse.open_to_write(store, create=create).close()
    except DamagedStoreError:
        outcome = "rebuilt"
        rebuild_store(store)
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.drain()
    return outcome


def check(store: Path, known: Marks) -> tuple[str, str]:
    """Outcome and problem of a store that is left."""
    try:
        outcome = recover(store, create=not any("in" in words for words in known.values()))
    except WarehouseError as error:
        return "failed", f"not ready: {type(error).__name__}: {error}"
    events = {_hash(number): tiny_dump_events(number) for number in range(MOST_DUMPS)}

    def event_counts(sha256: str) -> set[int]:
        """All events, or none where they were dropped or were about to be."""
        words = known[sha256]
        if "dropped" in words:
            return {0}
        return {events[sha256], 0} if "dropping" in words else {events[sha256]}

    problem = judge_store(
        store,
        {one for one, words in known.items() if "in" in words and "forgetting" not in words},
        event_counts,
        forgotten={sha256 for sha256, words in known.items() if "forgotten" in words},
        may_be_damaged=True,
    )
    wrong = {"not amended": sum(not is_so for is_so in _are_amended(store, known))}
    return outcome, ", ".join(filter(None, [problem, describe_problems(wrong)]))


def _are_amended(store: Path, known: Marks) -> Iterator[bool]:
    """For each dump, whether its manifest is as the marks demand."""
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql("SELECT sha256, manifest FROM dumps").table.to_pylist()
    for row in rows:
        words = known[row["sha256"]]
        is_amended = CORRECTION.partition("=")[2] in str(row["manifest"])
        yield is_amended if "amended" in words else "amending" in words or not is_amended


def _hash(number: int) -> str:
    return hashlib.sha256(tiny_dump(number)).hexdigest()
