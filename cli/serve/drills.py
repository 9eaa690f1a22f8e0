"""Runs the rebuild drill of each night for a service, in a process of its own."""

from __future__ import annotations

import os
import select
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

from tracehouse.cli.output.streams import write_note
from tracehouse.warehouse.children.messages import GONE, Message, receive
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.engine.memory_limit import VARIABLE
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.drill_record import read_record

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
