"""Kill a service under load, again and again, and hold what it acknowledged against its store.

Clients upload small dumps and some that are spooled, alone and in batches, and write down what was
acknowledged. The service is killed at random moments, or where `moments` says, and started again
over what is left. After some rounds it is told to end, and its store must hold what `judge_store`
demands: `make torture-service`.
"""

from __future__ import annotations

import itertools
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.kills import environment
from tests.support.service_process import NotStartedError, ServiceProcess
from tests.tools.reliability.findings import Results, run_recorded
from tests.tools.reliability.judge import judge_store
from tests.tools.reliability.rounds import KillTrial, kill_stores
from tests.tools.service.client import Tally, uploading
from tests.tools.service.dumps import DumpMaker, Packet
from tracehouse import Warehouse

MOMENTS = (
    "log append", "log sync", "log synced", "spool sync", "spool sealed", "log seal", "claim",
    "decoded", "seal", "commit", "committed", "log clear", "checkpoint", "published",
)  # fmt: skip
CONNECTIONS = 8
LONGEST_LIFE = 2.5  # seconds from its first answer
LONGEST_WAIT = 20.0  # likewise, for it to reach a named moment
SMALL, LARGE = 20, 9_000  # events; the large ones are spooled
LARGE_SHARE = 0.05
BATCH_SHARE = 0.3  # of requests
READY_SECONDS = 60.0


class Trial(KillTrial):
    """A store for rounds of killing, and the dumps that it must hold."""

    def __init__(self, store: Path) -> None:
        """Begin with no store and no dump."""
        self.store = store
        self.acknowledged: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._makers = DumpMaker(SMALL), DumpMaker(SMALL, runs=LARGE // SMALL)
        self._events: dict[str, int] = {}

    def kill_round(self, random_: random.Random, point: str = "") -> str:
        """Upload to a service, and kill it; what became of it.

        Args:
            random_: Chooses the moments.
            point: Where it dies; by default at some moment.
        """
        try:
            return self._kill_round(random_, point)
        except NotStartedError as error:  # it died of what is left from before
            return "killed" if point and error.status == -signal.SIGKILL else "broken"

    def _kill_round(self, random_: random.Random, point: str) -> str:
        killed = environment(f"{point}:{random_.randint(1, 3)}") if point else {}
        seconds = LONGEST_WAIT if point else random_.uniform(0.05, LONGEST_LIFE)
        tally = Tally(lambda sha256: self.acknowledged.update([sha256]))
        packets = self._packets(random.Random(random_.random()))  # noqa: S311 - for sizes
        with (
            ServiceProcess(self.store, killed, snapshot_seconds=1, **SETTINGS) as service,
            uploading(service.port, packets, tally, connections=CONNECTIONS),
        ):
            return _kill(service, seconds, is_random=not point)

    def check_end(self) -> str:
        """Problems of the store after one more service has started and ended."""
        with ServiceProcess(self.store, **SETTINGS) as service:
            service.signal(signal.SIGTERM)
            code = service.wait(READY_SECONDS)
        with Warehouse.open_to_write(self.store) as warehouse:
            warehouse.drain()
        problem = judge_store(
            self.store, self.acknowledged.keys(), lambda sha256: [self._events[sha256]]
        )
        return problem or (f"exit status {code}" if code else "")

    def _packets(self, random_: random.Random) -> Iterator[Packet]:
        before: list[Packet] = []
        while True:
            if before and random_.random() < 0.1:  # retries change nothing
                yield random_.choice(before)
                continue
            is_large = random_.random() < LARGE_SHARE
            maker, is_batch = self._makers[is_large], random_.random() < BATCH_SHARE
            count = random_.randint(1, 3 if is_large else 40)
            numbers = list(itertools.islice(self._numbers, count if is_batch else 1))
            packet = maker.packet(*numbers)
            self._events |= dict.fromkeys(packet.hashes, LARGE if is_large else SMALL)
            before = [*before[-9:], packet]
            yield packet


SETTINGS = {"batch_seconds": 0.2, "batch_dumps": 50, "free_bytes": 0}


def _kill(service: ServiceProcess, seconds: float, *, is_random: bool) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and service.is_running():
        time.sleep(0.01)
    if not service.is_running():
        return "killed" if service.wait() == -signal.SIGKILL else "broken"
    service.kill()
    return "killed" if is_random else "not reached"


def torture(count: int, *, seed: int, points: Sequence[str] = ()) -> dict[str, Any]:
    """Kill so many times: at random moments, or in turn at each of the points."""
    trials, results = kill_stores(Trial, count, seed=seed, points=points)
    return {"acknowledged": sum(len(one.acknowledged) for one in trials), **results}


def run(count: int, seed: int) -> Results:
    """Kill at random moments, and at each named one."""
    return {
        "random_moments": torture(count, seed=seed),
        "named_moments": torture(count // 4, seed=seed, points=MOMENTS),
    }


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 200, run))
