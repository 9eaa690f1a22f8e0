"""Verifies the store of a service, a hundredth of the dumps at a time, in a process of its own.

Each turn waits until no dumps wait to be indexed, but only as long as turns are apart: a service
that is never idle is verified, too.
"""

from __future__ import annotations

import os
import select
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracehouse.cli.output.streams import write_note
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.queries.report.figures import count_text
from tracehouse.warehouse.children.messages import GONE, Message, receive
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.memory_limit import VARIABLE
from tracehouse.warehouse.errors import StoreError, WarehouseError
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.verification_record import REMEDY, TURNS, read_record

_MODULE = "tracehouse.cli.upkeep.verifying"
_MEMORY = "512MB"  # DuckDB has no more while it reads the snapshot
_LOOK_SECONDS = 0.5


class Verifier:
    """Verifies a hundredth of the dumps in each turn; after a hundred turns it begins again.

    Attributes:
        verified: Dumps that were verified since the start.
    """

    def __init__(
        self, warehouse: Store, store: Path, consumer: Consumer, settings: ServiceSettings
    ) -> None:
        """Use a store that only functions of `Consumer.perform` may write."""
        self._warehouse, self._store, self._consumer = warehouse, store, consumer
        self._seconds = settings.verify_seconds
        self._ending = threading.Event()
        self.verified = 0

    @contextmanager
    def verify_in_thread(self) -> Iterator[None]:
        """Verify in a thread while the body runs."""
        thread = threading.Thread(target=self._run, name="verifier")
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()

    def _run(self) -> None:
        while not self._ending.wait(self._seconds):
            latest = time.monotonic() + self._seconds
            while not self._consumer.is_idle and time.monotonic() < latest:
                if self._ending.wait(_LOOK_SECONDS):
                    return
            try:
                self.verify()
            except (WarehouseError, OSError) as error:
                if not self._ending.is_set():
                    write_note(f"{self._store}: dumps cannot be verified: {error}")

    def verify(self) -> None:
        """Verify the next dumps, on the newest snapshot; notes what is wrong.

        Raises:
            StoreError: The verification failed, and can be tried again.
            OSError: Its process cannot be started.
        """
        if read_record(self._store).turn % TURNS == 0:  # rows may be wrong since the newest one
            self._consumer.perform(self._warehouse.snapshot, is_snapshot_needed=False).result()
        with tempfile.TemporaryDirectory(prefix="tracehouse-verify-") as scratch:
            message = self._verify_apart(scratch)
        if message is None:
            return
        if problem := message.get("problem"):
            raise StoreError(str(self._store), str(problem))
        self.verified += message["dumps"]
        for told in message["damages"]:
            write_note(f"{self._store}: {told}")
        if message["damages"]:
            write_note(
                f"{self._store}: {count_text(len(message['damages']), 'difference')} from the "
                f"archive; to remove them, stop the service and run '{REMEDY}'"
            )

    def _verify_apart(self, scratch: str) -> Message | None:
        """What the process says; None if the service ends first.

        Raises:
            StoreError: The process died.
        """
        environment, given = {VARIABLE: _MEMORY} | os.environ, (str(self._store), scratch)
        child = ChildProcess(_MODULE, *given, environment=environment, stderr=None)
        try:
            while not select.select([child.channel], [], [], _LOOK_SECONDS)[0]:
                if self._ending.is_set():
                    return None
            return receive(child.channel).message
        except GONE as error:
            problem = f"the process that verifies dumps {child.end()}"
            raise StoreError(str(self._store), problem) from error
        finally:
            child.end()
