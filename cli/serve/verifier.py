"""Verifies the store of a service, some dumps at a time, and drills a rebuild each night.

Each turn waits until no dumps wait to be indexed, but only as long as turns are apart: a service
that is never idle is verified, too.
"""

from __future__ import annotations

import os
import select
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tracehouse.cli.output.streams import write_note
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.cli.upkeep.verify_task import describe
from tracehouse.warehouse.children.messages import GONE, Message, receive
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.memory_limit import VARIABLE
from tracehouse.warehouse.errors import StoreError, WarehouseError
from tracehouse.warehouse.load.children import ChildDecoder
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.drill_record import read_record
from tracehouse.warehouse.upkeep.verification import Sample, Verification, verify_store

_MODULE = "tracehouse.cli.upkeep.drilling"
_MEMORY = "512MB"  # of DuckDB while it reads the snapshot
_LOOK_SECONDS = 0.5


class NightlyDrill:
    """The drill of a store that a service writes; it reads a snapshot."""

    def __init__(
        self, store: Path, publish: Callable[[], Future[object]], ending: threading.Event
    ) -> None:
        """Drill until `ending` is set; `publish` makes a snapshot of the store as it is."""
        self._store, self._publish, self._ending = store, publish, ending

    def run_if_due(self) -> None:
        """Run today's drill, unless it is done; notes what it finds.

        Raises:
            StoreError: The drill failed, and can be tried again.
            OSError: Its process cannot be started.
        """
        night, before = datetime.now(UTC).date().isoformat(), read_record(self._store)
        if before and before.night >= night:
            return
        self._publish().result()  # an older one might not have rows that are wrong by now
        with tempfile.TemporaryDirectory(prefix="tracehouse-drill-") as scratch:
            message = self._run(night, scratch)
        if message is None:
            return
        if problem := message.get("problem"):
            raise StoreError(str(self._store), f"the rebuild drill failed: {problem}")
        for told in message["damages"]:
            write_note(f"{self._store}: rebuild drill: {told}")
        if message["damages"]:
            write_note(f"{self._store}: to mend the store, run '{message['remedy']}'")

    def _run(self, night: str, scratch: str) -> Message | None:
        """What the process says; None if the service ends first.

        Raises:
            StoreError: The process died.
        """
        environment, given = {VARIABLE: _MEMORY} | os.environ, (str(self._store), night, scratch)
        child = ChildProcess(_MODULE, *given, environment=environment, stderr=None)
        try:
            while not select.select([child.channel], [], [], _LOOK_SECONDS)[0]:
                if self._ending.is_set():
                    return None
            return receive(child.channel).message
        except GONE as error:
            problem = f"the process of the rebuild drill {child.end()}"
            raise StoreError(str(self._store), problem) from error
        finally:
            child.end()


_SHARE = 0.01  # of the dumps, in one turn
_TURN_SECONDS = 1.0


class Verifier:
    """Verifies a hundredth of the dumps in each turn; after a hundred turns it begins again.

    Attributes:
        verified: Dumps that were verified since the start.
        damaged_tables: Tables with wrong rows that dumps share, found since the start.
    """

    def __init__(
        self, warehouse: Store, store: Path, consumer: Consumer, settings: ServiceSettings
    ) -> None:
        """Use a store that only functions of `Consumer.perform` may write."""
        self._warehouse, self._store, self._consumer = warehouse, store, consumer
        self._seconds = settings.verify_seconds
        self._ending = threading.Event()
        self._drill = NightlyDrill(store, self._publish, self._ending)
        self._turns = 0
        self.verified = 0
        self.damaged_tables: set[str] = set()

    @contextmanager
    def verifying(self) -> Iterator[None]:
        """Verify in a thread while the body runs."""
        thread = threading.Thread(target=self._run, name="verifier")
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()

    def damaged_dumps(self) -> int:
        """Dumps that disagreed when they were last verified, and were not rebuilt since.

        A WarehouseError of a store that cannot be read is passed on.
        """
        with self._consumer.readers.lend() as reader:
            found = reader.sql("SELECT count(damaged) AS n FROM dump_digests")
        count: int = found["n"][0].as_py()
        return count

    def _run(self) -> None:
        while not self._ending.wait(self._seconds):
            latest = time.monotonic() + self._seconds
            while not self._consumer.is_idle and time.monotonic() < latest:
                if self._ending.wait(_TURN_SECONDS):
                    return
            for work in (self._verify, self._drill.run_if_due):
                try:
                    work()
                except (WarehouseError, OSError) as error:
                    if not self._ending.is_set():
                        write_note(f"{self._store}: dumps cannot be verified: {error}")

    def _publish(self) -> Future[object]:
        return self._consumer.perform(self._warehouse.snapshot, is_snapshot_needed=False)

    def _verify(self) -> None:
        """Verify the next dumps; a WarehouseError or OSError is passed on."""
        verified = self._consumer.perform(self._verify_next, is_snapshot_needed=False)
        self._note(verified.result())

    def _verify_next(self) -> Verification:
        start, self._turns = self._turns * _SHARE % 1, self._turns + 1
        return verify_store(
            self._warehouse.writing,
            self._store,
            sample=Sample(_SHARE, start),
            decoder=ChildDecoder(self._warehouse.children, is_limited=False),
            progress=lambda _: self._consumer.check_running(),
        )

    def _note(self, done: Verification) -> None:
        self.verified += done.n_dumps
        self.damaged_tables |= {one.tables for one in done.damages if one.dump_id is None}
        for one in done.damages:
            write_note(f"{self._store}: {one.describe()}")
        if done.damages:
            write_note(f"{self._store}: {'; '.join(describe(done))}")
