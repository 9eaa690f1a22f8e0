"""Verifies the store of a service, some dumps at a time, and drills a rebuild each night.

Each turn waits until no dumps wait to be indexed, but only as long as turns are apart: a service
that is never idle is verified, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from tracehouse.cli.output.streams import write_note
from tracehouse.cli.serve.drills import NightlyDrill
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.cli.upkeep.verify_task import describe
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.errors import WarehouseError
from tracehouse.warehouse.load.children import ChildDecoder
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.verification import Sample, Verification, verify_store

_SHARE = 0.01  # of the dumps, in one turn
_LOOK_SECONDS = 1.0


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
                if self._ending.wait(_LOOK_SECONDS):
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
