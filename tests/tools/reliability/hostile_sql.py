"""Ask a service SQL that wants more than an answer: `make torture-service`.

First come the statements of tests/support/sql_attacks.py, each over the store's file and over its
snapshot: every one must be refused, and no file be other than before. Then come the bombs of
tests/support/sql_bombs.py, one after the other, while dumps are uploaded: no answer may be a second
later than the deadline, and no worker take more memory than it may, beside its own; what the
uploads take then is told beside what they took before.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.attack_ground import CONFIDENTIAL, AttackGround
from tests.support.service_process import ServiceProcess
from tests.support.sql_attacks import attacks
from tests.support.sql_bombs import BOMBS
from tests.support.waiting import repeating
from tests.tools.reliability.findings import Results, run_recorded
from tests.tools.service.client import Tally, upload, uploading
from tests.tools.service.dumps import DumpMaker
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.opening.snapshots import find_snapshots

SECONDS = 2  # deadline of a statement
MEMORY = 256 << 20  # what one may take
OWN_MEMORY = 160 << 20  # what a worker has besides
RATE = 10  # uploads per second
QUIET_SECONDS = 10.0


@contextmanager
def serving(ground: AttackGround) -> Iterator[ServiceProcess]:
    """A service over the store of a ground, which has a snapshot."""
    settings = {"sql_seconds": SECONDS, "sql_bytes": MEMORY}
    with ServiceProcess(ground.store, free_bytes=0, snapshot_seconds=3600, **settings) as service:
        while not find_snapshots(ground.store):
            time.sleep(0.05)
        yield service


def ask(port: int, text: str) -> tuple[int, str]:
    """Status and body of the answer to a statement."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", "/v1/sql", text.encode(), {"Content-Type": "text/plain"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def attack(seed: int) -> dict[str, Any]:
    """The results of all attacks, in random order."""
    problems, statuses = [], Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        ground = AttackGround(Path(name))
        with serving(ground) as service:
            places = (ground.store / FILE_NAME, find_snapshots(ground.store)[-1].path)
            asked = list(itertools.product(attacks().items(), places))
            random.Random(seed).shuffle(asked)  # noqa: S311 - an order
            for (attack_name, text), place in asked:
                before = ground.files()
                status, body = ask(service.port, ground.fill_in(text, place))
                statuses[str(status)] += 1
                is_changed = ground.files() != before
                if status != http.HTTPStatus.BAD_REQUEST or CONFIDENTIAL in body or is_changed:
                    problems.append(f"{attack_name}: {status}, files changed: {is_changed}")
    return {"attacks": len(asked), "statuses": dict(sorted(statuses.items())), "problems": problems}


def bomb(rounds: int, seed: int) -> dict[str, Any]:
    """The results of so many rounds of bombs, while dumps are uploaded."""
    tallies, seconds, peaks = (Tally(), Tally()), dict[str, float](), [0]
    with tempfile.TemporaryDirectory() as name:
        ground = AttackGround(Path(name))
        with serving(ground) as service:
            packets = map(DumpMaker().packet, itertools.count())
            loading = upload(
                service.port, packets, tallies[0], connections=4, seconds=QUIET_SECONDS, rate=RATE
            )
            asyncio.run(loading)
            with (
                uploading(service.port, packets, tallies[1], connections=4, rate=RATE),
                _watched(service, peaks),
            ):
                names = random.Random(seed).sample(list(BOMBS) * rounds, len(BOMBS) * rounds)  # noqa: S311
                statuses = _ask_all(service.port, names, seconds)
    late = {name: taken - SECONDS for name, taken in seconds.items()}
    worst = max(late, key=lambda name: late[name])
    problems = [f"{name}: {over:.2f} s late" for name, over in late.items() if over > 1]
    problems += [f"a worker took {peaks[0]:,} bytes"] if peaks[0] > MEMORY + OWN_MEMORY else []
    refused = sum(tally.statuses.total() - len(tally.seconds) for tally in tallies)
    problems += [f"{refused} uploads failed"] if refused else []
    return {
        "bombs": len(names),
        "statuses": dict(sorted(statuses.items())),
        "worst": worst,
        "worst_late_seconds": round(late[worst], 3),
        "worker_peak_bytes": peaks[0],
        "uploads_before": _describe(tallies[0]),
        "uploads_meanwhile": _describe(tallies[1]),
        "problems": problems,
    }


def _ask_all(port: int, names: list[str], seconds: dict[str, float]) -> Counter[str]:
    """Statuses of the answers to all bombs, and the longest that each took."""
    statuses = Counter[str]()
    for name in names:
        ask(port, "SELECT 1")  # so that no start of a worker is measured
        start = time.monotonic()
        status, _ = ask(port, BOMBS[name])
        seconds[name] = max(seconds.get(name, 0.0), time.monotonic() - start)
        statuses[str(status)] += 1
    return statuses


@contextmanager
def _watched(service: ServiceProcess, peaks: list[int]) -> Iterator[None]:
    """The most memory that one of the service's workers had."""

    def look() -> None:
        peaks[0] = max([peaks[0], *service.child_peaks("tracehouse.warehouse.sandbox.worker")])

    with repeating(look, 0.01):
        yield


def _describe(tally: Tally) -> dict[str, Any]:
    return {
        "uploads": len(tally.seconds),
        "p50_milliseconds": round(tally.percentile(0.5) * 1000, 1),
        "p99_milliseconds": round(tally.percentile(0.99) * 1000, 1),
    }


def run(count: int, seed: int) -> Results:
    """All attacks, and so many rounds of bombs."""
    return {"attacks": attack(seed), "bombs": bomb(count, seed)}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 2, run))
