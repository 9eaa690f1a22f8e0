"""What uploads notice of a restart: `python -m tests.tools.service.restart [STORE]`.

Clients upload all the time while a service is restarted, each as `tracehouse upload` does. Every
dump that was acknowledged is looked for in the store afterwards. The sockets are passed by a
supervisor in one half of the figures, and opened by the service in the other half.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from statistics import median

from tests.support.service_process import ServiceProcess
from tests.support.stores import MANIFEST
from tests.tools.service.dumps import DumpMaker
from tracehouse import Warehouse
from tracehouse.ingest.errors import ServiceError
from tracehouse.ingest.remote import OutgoingDump, ServiceConnection

ROUNDS, CLIENTS = 3, 4
_PAUSE = 0.02  # seconds between two uploads of a client
_STEADY = 3.0  # seconds before and after a restart


class Uploads:
    """Clients that upload different dumps until the body ends.

    Attributes:
        acknowledged: Time of each acknowledgement by SHA-256.
    """

    def __init__(self, url: str) -> None:
        self.acknowledged: dict[str, float] = {}
        self._url, self._maker, self._numbers = url, DumpMaker(), count()
        self._is_over = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Upload until the body ends."""
        clients = [threading.Thread(target=self._upload) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            yield
        finally:
            self._is_over.set()
            for client in clients:
                client.join()

    def _upload(self) -> None:
        with ServiceConnection(self._url, token="", retry_seconds=60) as connection:
            while not self._is_over.wait(_PAUSE):
                dump = self._maker.dump(next(self._numbers))
                (receipt,) = connection.upload([OutgoingDump(dump, json.dumps(MANIFEST))])
                if isinstance(receipt, ServiceError):
                    raise receipt
                self.acknowledged[receipt.sha256] = time.monotonic()

    def longest_gap(self, start: float, end: float) -> float:
        """The longest time between two acknowledgements, in some part of the time."""
        times = sorted(at for at in [*self.acknowledged.values()] if start <= at <= end)
        return max((later - earlier for earlier, later in pairwise(times)), default=end - start)


def measure(store: Path, *, is_passed: bool, rounds: int = ROUNDS) -> dict[str, float]:
    """Restart a service so often, and compare what is stored with what was acknowledged."""
    gaps, ends, starts = [], [], []
    with ExitStack() as opened:
        listening = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
        port = listening.getsockname()[1]
        if not is_passed:
            listening.close()
        passed = listening if is_passed else None
        begin = partial(
            ServiceProcess,
            store,
            port=port,
            free_bytes=0,
            log=Path(f"{store}.log"),
            listening=passed,
        )
        service = begin()
        uploads = Uploads(service.url)
        with uploads.running():
            for _ in range(rounds):
                time.sleep(_STEADY)
                start = time.monotonic()
                service.signal(signal.SIGTERM)
                with service:
                    service.wait()
                ended = time.monotonic()
                service = begin()
                started = time.monotonic()
                time.sleep(_STEADY)
                gaps.append(uploads.longest_gap(start - 1, time.monotonic()))
                ends.append(ended - start)
                starts.append(started - ended)
        with service:
            service.signal(signal.SIGTERM)
            service.wait()
    return {
        "uploads": len(uploads.acknowledged),
        "lost": len(uploads.acknowledged.keys() - _stored(store)),
        "median gap s": median(gaps),
        "longest gap s": max(gaps),
        "median end s": median(ends),
        "median start s": median(starts),
    }


def _stored(store: Path) -> set[str]:
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.drain()
        return set(warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist())


def main(*stores: str) -> None:
    """Print the figures for a copy of a store, or for a new one."""
    for is_passed in (True, False):
        with tempfile.TemporaryDirectory() as name:
            store = Path(name, "store")
            for given in stores:
                shutil.copytree(given, store)
            found = measure(store, is_passed=is_passed)
        what = "socket of a supervisor" if is_passed else "own socket"
        sys.stdout.write(f"{what}: {json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
