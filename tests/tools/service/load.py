"""How much a service takes, how fast, and in how much memory: `make bench-service`.

The service runs in a process of its own, the client in this one, on the same cores. What it answers
with 201 is held against its store when it has ended. Figures say what the machine had left for
them: beside each rate stands the time that was computed for an upload.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from tests.support.service_process import ServiceProcess
from tests.support.waiting import repeating
from tests.tools.benchmarks.record import Figures, Record
from tests.tools.service.client import Tally, upload
from tests.tools.service.dumps import DumpMaker, Packet
from tracehouse import Warehouse

CONNECTIONS, MANY, CROWD = 32, 512, 10_000
BATCH = 128  # dumps of a request
LARGE_RUNS = 250
LARGE_CONNECTIONS = 4
_PAUSE = 0.1  # seconds that a connection with large uploads waits when it is put off
_LOOK = 0.25  # seconds between two looks
_REPORT = 10.0  # seconds between two lines about the memory
_BACK = 120.0  # seconds within which a service has to be back to normal


class Watch:
    """What is seen of a service while it is under load.

    Attributes:
        most_bytes: The most memory that it held.
        queryable_seconds: How long some uploads took from their answer until they were indexed.
    """

    def __init__(self, service: ServiceProcess) -> None:
        self.most_bytes = 0
        self.queryable_seconds: list[float] = []
        self._service = service
        self._followed: tuple[str, float] | None = None
        self._start = self._reported = time.monotonic()

    def acknowledged(self, sha256: str) -> None:
        """Follow an upload, unless another is being followed."""
        if self._followed is None:
            self._followed = sha256, time.monotonic()

    def look(self) -> None:
        """Look at the service's memory, and at what became of the upload that is followed."""
        held, now = self._service.resident_bytes(), time.monotonic()
        self.most_bytes = max(self.most_bytes, held)
        if now - self._reported >= _REPORT:
            self._reported = now
            sys.stderr.write(f"after {now - self._start:.0f} s: {held / 1e6:.0f} MB\n")
        if self._followed and state_of(self._service.port, self._followed[0]) == "indexed":
            self.queryable_seconds.append(time.monotonic() - self._followed[1])
            self._followed = None


def state_of(port: int, sha256: str) -> str:
    """What became of an upload."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", f"/v1/dumps/{sha256}")
        return str(json.loads(connection.getresponse().read()).get("state"))
    finally:
        connection.close()


def load(
    folder: Path,
    maker: DumpMaker,
    *,
    connections: int,
    seconds: float,
    batch: int = 1,
    **pace: float,
) -> dict[str, float]:
    """What a new service makes of a load at some pace, see `upload`, in requests of `batch`."""
    store = folder / "store"
    acknowledged: set[str] = set()
    with ServiceProcess(store) as service:
        watch = Watch(service)

        def note(sha256: str) -> None:
            acknowledged.add(sha256)
            watch.acknowledged(sha256)

        tally = Tally(note)
        start, computed, own = time.monotonic(), service.cpu_seconds(), time.process_time()
        numbers = itertools.count(step=batch)
        packets = (maker.packet(*range(first, first + batch)) for first in numbers)
        loading = upload(
            service.port, packets, tally, connections=connections, seconds=seconds, **pace
        )
        with repeating(watch.look, _LOOK):
            asyncio.run(loading)
            taken, own = time.monotonic() - start, time.process_time() - own
            back = _await_normal(service.port, maker.packet(1 << 40))
            computed = service.cpu_seconds() - computed
        service.signal(signal.SIGTERM)
        code = service.wait(600)
    accepted = tally.statuses[201]
    return {
        "seconds": seconds,
        "uploads per second": accepted / taken,
        "MB per second": accepted * maker.byte_count / taken / 1e6,
        "median ms": 1e3 * tally.percentile(0.5),
        "p99 ms": 1e3 * tally.percentile(0.99),
        "put off": tally.statuses[429],
        "unanswered": tally.statuses[0],
        "other answers": tally.statuses.total()
        - accepted
        - tally.statuses[429]
        - tally.statuses[0],
        "computed us per upload": 1e6 * computed / max(accepted, 1),
        "computed us per upload by the client": 1e6 * own / max(accepted, 1),
        "memory MB": watch.most_bytes / 1e6,
        "queryable after s": median(watch.queryable_seconds or [float("nan")]),
        "back to normal after s": back,
        "lost": len(acknowledged - _stored(store)),
        "exit status": code,
    }


def crowd(folder: Path, maker: DumpMaker) -> dict[str, float]:
    """What becomes of uploads while many connections stand open that never say what they want."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, CROWD + 512), most))
    with ServiceProcess(folder / "store") as service, ExitStack() as opened:
        start = time.monotonic()
        for _ in range(min(CROWD, most - 512)):
            idle = socket.create_connection(("127.0.0.1", service.port), timeout=60)
            opened.callback(idle.close)
            idle.sendall(b"POST /v1/dumps")
        taken, tally = time.monotonic() - start, Tally()
        packets = map(maker.packet, itertools.count())
        asyncio.run(upload(service.port, packets, tally, connections=4, seconds=5))
        return {
            "connections": CROWD,
            "opened in s": taken,
            "uploads per second": tally.statuses[201] / 5,
            "p99 ms": 1e3 * tally.percentile(0.99),
            "other answers": tally.statuses.total() - tally.statuses[201],
            "memory MB": service.resident_bytes() / 1e6,
        }


def _await_normal(port: int, packet: Packet) -> float:
    """Seconds until an upload is indexed that is sent now, put off as often as it is."""
    start = time.monotonic()
    while time.monotonic() - start < _BACK:
        tally = Tally()
        packets: Iterator[Packet] = itertools.repeat(packet)
        asyncio.run(upload(port, packets, tally, connections=1, seconds=0.01))
        if state_of(port, packet.hashes[0]) == "indexed":
            break
        time.sleep(_LOOK)
    return time.monotonic() - start


def _stored(store: Path) -> set[str]:
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.drain()
        return set(warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist())


def overload(folder: Path, seconds: float) -> dict[str, float]:
    """What a new service makes of far too many connections, all of which send small dumps."""
    return load(folder, DumpMaker(), connections=MANY, seconds=seconds)


def measure(seconds: float, overload_seconds: float) -> Figures:
    """Small dumps as fast as they go, at half of that, large ones, in a crowd, and far too many."""
    small, large = DumpMaker(), DumpMaker(runs=LARGE_RUNS)
    with tempfile.TemporaryDirectory() as name:
        folders = (Path(name, str(number)) for number in itertools.count())
        most = load(next(folders), small, connections=CONNECTIONS, seconds=seconds)
        batches = load(
            next(folders), small, connections=LARGE_CONNECTIONS, seconds=seconds, batch=BATCH
        )
        half = most["uploads per second"] / 2
        return {
            "small": most,
            "batches": batches,
            "small at half": load(
                next(folders), small, connections=CONNECTIONS, seconds=seconds, rate=half
            ),
            "large": load(
                next(folders), large, connections=LARGE_CONNECTIONS, seconds=seconds, pause=_PAUSE
            ),
            "crowd": crowd(next(folders), small),
            "overload": overload(next(folders), overload_seconds),
        }


def main() -> int:
    """Print and keep the figures; 1 if an acknowledged dump was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path, nargs="?", help="without it, only the overload")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--overload-seconds", type=float, default=600.0)
    arguments = parser.parse_args()
    if arguments.record is None:
        with tempfile.TemporaryDirectory() as name:
            record = Record.of({"overload": overload(Path(name), arguments.overload_seconds)})
    else:
        record = Record.of(measure(arguments.seconds, arguments.overload_seconds))
        record.write(arguments.record)
    sys.stdout.write(json.dumps(record.figures, indent=1) + "\n")
    return int(any(found.get("lost") for found in record.figures.values()))


if __name__ == "__main__":
    sys.exit(main())
