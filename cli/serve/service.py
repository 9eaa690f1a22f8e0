"""What a service holds while it runs: the store, its inbox, its consumer, and who may what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

from cli.serve.access import Access
from cli.serve.settings import ServiceSettings
from warehouse.consumer import Consumer
from warehouse.sandbox.workers import Sandbox
from warehouse.storage.inbox import Inbox
from warehouse.store import Warehouse


class Service:
    """An open service; close it when the last request is answered.

    Attributes:
        store: The store's directory.
        settings: How it is set up.
        inbox: Takes dumps over, from any thread.
        consumer: Brings them into the store.
        access: Who may what.
        sandbox: Answers SQL from anybody.
    """

    def __init__(self, store: Path, settings: ServiceSettings) -> None:
        """Open a store for writing, as its only writer, and begin to bring in what it is given.

        Raises:
            StoreError: It cannot be opened; see `Warehouse.open`.
        """
        self.store, self.settings = store, settings
        with ExitStack() as opened:
            self._warehouse = opened.enter_context(Warehouse.open(store, create=True))
            self._idle: SimpleQueue[Warehouse] = SimpleQueue()
            opened.callback(self._close_readers)
            self.access = Access(store)
            self.sandbox = Sandbox(store, settings.sql_bounds)
            opened.callback(self.sandbox.close)
            self.inbox = opened.enter_context(Inbox.open(store))
            self.consumer = Consumer(
                self._warehouse,
                store,
                batch_dumps=settings.batch_dumps,
                batch_seconds=settings.batch_seconds,
                snapshot_seconds=settings.snapshot_seconds,
            )
            opened.enter_context(self.consumer)
            self._opened = opened.pop_all()

    @contextmanager
    def reader(self) -> Iterator[Warehouse]:
        """The store as it is now, for this thread to ask until the body ends."""
        try:
            reader = self._idle.get_nowait()
        except Empty:
            reader = self._warehouse.reader()
        try:
            yield reader
        except BaseException:  # which may have left it in the middle of something
            reader.close()
            raise
        self._idle.put(reader)

    def close(self) -> None:
        """Index what was accepted, publish a snapshot, and close the store.

        Raises:
            StoreError: Not all could be written; it stays in the inbox.
        """
        self._opened.close()

    def _close_readers(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return
