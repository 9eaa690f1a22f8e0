"""The one consumer of a store's inbox, for a process that keeps the store open."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.errors import StoreError
from warehouse.storage.snapshots import find_snapshots

if TYPE_CHECKING:
    from warehouse.intake.pipeline import IngestSummary
    from warehouse.store import Warehouse


class Consumer:
    """A thread that brings into a store what its inbox was given.

    It does so when enough was given or the first of it has waited long enough. Use as a context
    manager: at its end, what is left is brought in and a snapshot is published.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        store: Path,
        *,
        batch_dumps: int,
        batch_seconds: float,
        snapshot_seconds: float,
    ) -> None:
        """Take a store that is open for writing; nobody else writes it meanwhile."""
        self._warehouse, self._store = warehouse, store
        self._batch_dumps, self._batch_seconds = batch_dumps, batch_seconds
        self._snapshot_seconds = snapshot_seconds
        self._given, self._is_ending = 0, False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="consumer")
        self._brought_in, self._published = 0, time.monotonic()
        self.problem: StoreError | None = None

    def given(self, count: int = 1) -> None:
        """Know that so many dumps were handed over to the inbox."""
        with self._changed:
            self._given += count
            if self._given >= self._batch_dumps:
                self._changed.notify()

    def __enter__(self) -> Consumer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        is_ending = False
        while not is_ending:
            with self._changed:
                self._changed.wait_for(self._is_due, timeout=self._batch_seconds)
                self._given, is_ending = 0, self._is_ending
            try:
                self._take_in(self._warehouse.drain())
                self._publish(is_ending=is_ending)
                self.problem = None
            except StoreError as error:  # what is in the inbox is safe there; the next turn tries
                self.problem = error

    def _is_due(self) -> bool:
        return self._is_ending or self._given >= self._batch_dumps

    def _take_in(self, summary: IngestSummary) -> None:
        self._brought_in += summary.n_files

    def _publish(self, *, is_ending: bool) -> None:
        """Publish a snapshot if something changed, and the last is old enough or this ends."""
        is_due = is_ending or time.monotonic() - self._published >= self._snapshot_seconds
        if (self._brought_in and is_due) or not find_snapshots(self._store):
            self._warehouse.snapshot()
            self._brought_in, self._published = 0, time.monotonic()
