"""Kill those who hand dumps over and the one who takes them, again and again: `make torture`.

Two processes hand the same dumps over in several threads, each dump up to five times and under
several names, while one of them drains the inbox. Both are killed at random moments, or where
`moments` says. Then the store must be ready in time, and hold what `judge_store` demands.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from tests.support.forks import fork, wait
from tests.support.kills import die_at
from tests.support.tiny_dumps import tiny_dump, tiny_dump_events, tiny_incoming
from tests.tools.reliability.findings import Results, run_recorded
from tests.tools.reliability.judge import judge_store
from tests.tools.reliability.rounds import KillTrial, kill_stores
from tracehouse import Inbox, Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

MOMENTS = (
    "log append", "log sync", "log synced", "log seal", "claim", "decoded", "seal", "commit",
    "log sum", "committed", "log clear", "checkpoint", "swap",
)  # fmt: skip
DUMPS = 30  # that a round hands over
THREADS = 3
LONGEST_LIFE = 0.9  # seconds; a child that decodes needs some to start
LONGEST_WAIT = 30.0  # likewise, for somebody to be acknowledged
LINE_BYTES = 65  # of an acknowledgement
READY_SECONDS = 5.0  # of CPU time, which a busy machine does not lengthen


class Trial(KillTrial):
    """A store for rounds of killing, and the dumps that it must hold."""

    def __init__(self, store: Path) -> None:
        """Make the store."""
        self.store = store
        self.acknowledged = store.parent / "acknowledged"
        self.acknowledged.touch()
        self.slowest = 0.0  # seconds until it was ready after a round
        self._rounds = 0
        self._events: dict[str, int] = {}
        Warehouse.open_to_write(store, create=True).close()

    def kill_round(self, random_: random.Random, point: str = "") -> str:
        """Hand dumps over and kill those who do so; what became of the one who drains.

        Args:
            random_: Chooses the moments.
            point: Where it dies; by default at some moment.
        """
        numbers = range(self._rounds * DUMPS, (self._rounds + 1) * DUMPS)
        self._rounds += 1
        for number in numbers:
            self._events[_hash(number)] = tiny_dump_events(number)
        seeds = random_.random(), random_.random()
        often = 3 if point in MOMENTS[:3] else 1
        wanted = f"{point}:{random_.randint(1, often)}" if point else ""
        before = self.acknowledged.stat().st_size
        draining = fork(lambda: self._hand_over(numbers, seeds[0], wanted, is_draining=True))
        handing = fork(lambda: self._hand_over(numbers, seeds[1], "", is_draining=False))
        if not point:
            if self._rounds % 2:  # in the middle, however fast the machine is
                self._await_bytes(before + random_.randrange(DUMPS // 2) * LINE_BYTES)
            else:
                time.sleep(random_.uniform(0, LONGEST_LIFE))
            os.kill(draining, signal.SIGKILL)
        outcome = wait(draining)
        time.sleep(random_.choice((0, 0.02)))
        os.kill(handing, signal.SIGKILL)
        wait(handing)
        return outcome

    def _await_bytes(self, size: int) -> None:
        """Wait until the file of acknowledgements is longer than this."""
        deadline = time.monotonic() + LONGEST_WAIT
        while self.acknowledged.stat().st_size <= size and time.monotonic() < deadline:
            time.sleep(0.001)

    def check_round(self) -> str:
        """Problems of the store that is left; measures the seconds until it is ready."""
        start = time.process_time()
        try:
            with Warehouse.open_to_write(self.store) as warehouse:
                warehouse.drain()
        except StoreError as error:
            return f"not ready: {error}"
        seconds = time.process_time() - start
        self.slowest = max(self.slowest, seconds)
        acknowledged = set(self.acknowledged.read_text().split())
        problem = judge_store(self.store, acknowledged, lambda sha256: [self._events[sha256]])
        return problem or (f"ready after {seconds:.1f} s" if seconds > READY_SECONDS else "")

    def _hand_over(
        self, numbers: Sequence[int], seed: float, point: str, *, is_draining: bool
    ) -> None:
        """Accept dumps in several threads; one of the two processes drains, too."""
        random_ = random.Random(seed)  # noqa: S311 - for choosing an order
        deliveries = [n for n in numbers for _ in range(random_.randint(1, 5))]
        random_.shuffle(deliveries)
        acknowledged = os.open(self.acknowledged, os.O_WRONLY | os.O_APPEND)
        if point:
            die_at(point)
        with Inbox.open(self.store) as inbox:
            threads = [
                Thread(target=_accept, args=(inbox, deliveries[i::THREADS], acknowledged))
                for i in range(THREADS)
            ]
            for thread in threads:
                thread.start()
            if point.startswith("swap") and Archive(self.store).segments():
                rebuild_store(self.store, wait=1)
            if is_draining:
                _drain_while(threads, self.store)
            for thread in threads:
                thread.join()


def _drain_while(threads: Sequence[Thread], store: Path) -> None:
    """Drain as long as the threads run, and once more."""
    with Warehouse.open_to_write(store) as warehouse:
        while any(thread.is_alive() for thread in threads):
            warehouse.drain()
        warehouse.drain()


def _accept(inbox: Inbox, numbers: Sequence[int], acknowledged: int) -> None:
    for turn, number in enumerate(numbers):
        sha256 = inbox.accept(tiny_incoming(number, f"{turn}/{number}.etdp"))
        os.write(acknowledged, f"{sha256}\n".encode())


def _hash(number: int) -> str:
    return hashlib.sha256(tiny_dump(number)).hexdigest()


def torture(count: int, *, seed: int, points: Sequence[str] = ()) -> dict[str, Any]:
    """Kill so many times: at random moments, or in turn at each of the points."""
    trials, results = kill_stores(Trial, count, seed=seed, points=points)
    return {"slowest_ready_seconds": round(max(one.slowest for one in trials), 3), **results}


def run(count: int, seed: int) -> Results:
    """Kill at random moments, and at each named one."""
    return {
        "random_moments": torture(count, seed=seed),
        "named_moments": torture(count // 5, seed=seed, points=MOMENTS),
    }


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 1_000, run))
