"""How long answers take while dumps arrive: `python -m tests.tools.service.latency STORE`.

A service over a copy of the store takes uploads at a fixed pace. Meanwhile clients ask for pages,
reports, queries and SQL again and again, each for itself, and every answer is timed. Then the
service is killed under load and started again, some times, until it is ready. With other working
trees of this repository after STORE, their services are measured in turns with this one's: run it
in a folder without code.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median

from tests.support.service_process import ServiceProcess
from tests.tools.service.client import Tally, uploading
from tests.tools.service.dumps import DumpMaker, Packet

SQL = json.dumps({"sql": "SELECT device_id, count(*) AS n FROM dumps GROUP BY ALL ORDER BY n"})
QUESTIONS = {
    "home": ("GET", "/", None),
    "regressions": ("GET", "/regressions", None),
    "feed": ("GET", "/nights.atom", None),
    "report": ("GET", "/v1/report?format=json", None),
    "query": ("GET", "/v1/queries/coverage", None),
    "sql": ("POST", "/v1/sql", SQL),
}
_PAUSE = 0.2  # seconds between two questions of a client
_TIMEOUT = 120.0  # seconds
_CONNECTIONS = 32
_LIFE_SECONDS = 3.0  # of a service that is killed


class Answers:
    """The answers to one question: seconds of each, and statuses."""

    def __init__(self) -> None:
        """Begin without answers."""
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()

    def figures(self) -> dict[str, object]:
        """Percentiles in seconds, and the share of answers that are not 200."""
        ordered, count = sorted(self.seconds), len(self.seconds)
        return {
            "answers": count,
            "p50 s": round(median(ordered), 3) if ordered else None,
            "p99 s": round(ordered[int(0.99 * (count - 1))], 3) if ordered else None,
            "not 200": {status: n for status, n in self.statuses.items() if status != 200},
        }


@contextmanager
def asking(port: int, names: Sequence[str]) -> Iterator[dict[str, Answers]]:
    """Ask each question in a thread of its own until the body ends."""
    answers, is_over = {name: Answers() for name in names}, threading.Event()

    def ask(name: str) -> None:
        while not is_over.wait(_PAUSE):
            start = time.monotonic()
            status = _ask(port, *QUESTIONS[name])
            answers[name].statuses[status] += 1
            answers[name].seconds.append(time.monotonic() - start)

    threads = [threading.Thread(target=ask, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _ask(port: int, method: str, path: str, body: str | None) -> int:
    """Status of an answer; 0 without one."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    try:
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, HTTPException):
        return 0
    else:
        return answer.status
    finally:
        connection.close()


def measure(
    store: Path,
    tree: Path | None,
    *,
    seconds: float,
    rate: float | None,
    kills: int,
    names: Sequence[str],
) -> dict[str, object]:
    """The answers of a service over a copy of a store, and its times from kill to ready."""
    environment = {"PYTHONPATH": str(tree)} if tree else {}
    numbers, maker, tally = itertools.count(), DumpMaker(), Tally()
    with tempfile.TemporaryDirectory() as name:
        own = Path(shutil.copytree(store, Path(name, "store")))

        def begin() -> ServiceProcess:
            return ServiceProcess(own, environment, log=Path(name, "log"), free_bytes=0)

        with (
            begin() as service,
            uploading(
                service.port, map(maker.packet, numbers), tally,
                connections=_CONNECTIONS, rate=rate,
            ),
            asking(service.port, names) as answers,
        ):  # fmt: skip
            time.sleep(seconds)
            asked = {name: one.figures() for name, one in answers.items()}
        ready = [_kill_and_start(begin, map(maker.packet, numbers), rate) for _ in range(kills)]
    taken = sorted(tally.seconds)
    return {
        **asked,
        "uploads": {
            "per second": round(len(taken) / seconds, 1),
            "p99 ms": round(1e3 * tally.percentile(0.99), 1),
            "statuses": dict(tally.statuses),
        },
        "from start to ready s": [round(one, 2) for one in sorted(ready)],
    }


def _kill_and_start(
    begin: Callable[[], ServiceProcess], packets: Iterator[Packet], rate: float | None
) -> float:
    """Kill a service under load, and start it: seconds until it is ready."""
    with (
        begin() as service,
        uploading(service.port, packets, Tally(), connections=_CONNECTIONS, rate=rate),
    ):
        time.sleep(_LIFE_SECONDS)
        service.kill()
    start = time.monotonic()
    with begin() as service:
        while _ask(service.port, "GET", "/readyz", None) != 200:
            time.sleep(0.02)
        return time.monotonic() - start


def main() -> None:
    """Print the figures of each tree, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("trees", type=Path, nargs="*", help="other working trees")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument(
        "--rate", type=float, default=200.0, help="uploads a second; 0: all it takes"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS))
    given = parser.parse_args()
    for tree in [None, *given.trees] * given.rounds:
        found = measure(
            given.store, tree, seconds=given.seconds, rate=given.rate or None, kills=given.kills,
            names=given.only,
        )  # fmt: skip
        sys.stdout.write(f"{tree or 'this tree'}: {json.dumps(found, indent=1)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
