"""What a service holds while it runs: the store, its inbox, its consumer, and who may what."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

from cli.output.streams import write_note
from cli.serve.access.authorization import Access
from cli.serve.settings import ServiceSettings
from cli.serve.uploads.admission import Admission
from cli.serve.uploads.commits import Commits
from warehouse.consumer import Consumer
from warehouse.engine.store_file import INBOX_FOLDER
from warehouse.errors import DamagedStoreError, WarehouseError
from warehouse.inbox.accept import Acceptor
from warehouse.inbox.inbox import Inbox
from warehouse.inbox.served import served
from warehouse.inbox.spools import clear_spools
from warehouse.sandbox.workers import Sandbox
from warehouse.store import Warehouse
from warehouse.upkeep.rebuild import rebuild_store

_SPOOLING = 4  # threads


class Service:
    """An open service; close it when the last request is answered.

    Attributes:
        store: The store's directory.
        settings: How it is set up.
        config: Settings file of its reports, if it was given one.
        started: When it was opened, on the monotonic clock.
        inbox: Takes dumps over, from any thread.
        consumer: Brings them into the store.
        access: Who may what.
        admission: Which uploads are taken.
        acceptor: Accepts dumps into the inbox.
        commits: Lets the event loop do so.
        spooling: Threads that take large bodies to disk.
        inflating: The thread that unpacks bodies.
        problem: Why the service could not be closed as it should.
        sandbox: Answers SQL from anybody.
    """

    def __init__(
        self, store: Path, settings: ServiceSettings, *, config: Path | None = None
    ) -> None:
        """Open a store for writing, as its only writer, and begin to bring in what it is given.

        Args:
            store: The store's directory.
            settings: How the service is set up.
            config: Settings file of reports; by default ./tracehouse.toml, if there is one.

        Raises:
            StoreError: It cannot be opened; see `Warehouse.open`.
        """
        self.store, self.settings, self.config = store, settings, config
        self.started = time.monotonic()
        with ExitStack() as opened:
            self._warehouse = opened.enter_context(_open(store))
            opened.enter_context(served(store))
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
            clear_spools(store / INBOX_FOLDER)
            self.admission = Admission(store, settings, self.consumer.known)
            self.spooling = opened.enter_context(ThreadPoolExecutor(_SPOOLING, "spooling"))
            self.inflating = opened.enter_context(ThreadPoolExecutor(1, "inflating"))
            committing = opened.enter_context(ThreadPoolExecutor(1, "committing"))
            self.acceptor = Acceptor(self.inbox, self.consumer.known, self.consumer.given)
            self.commits = Commits(
                self.acceptor, committing, self.spooling, lambda: self.admission.uploads
            )
            self.problem: WarehouseError | None = None
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
            WarehouseError: Not all could be written; it stays in the inbox.
        """
        try:
            self._opened.close()
            if self.consumer.problem:
                raise self.consumer.problem
        except WarehouseError as error:
            self.problem = error
            raise

    def _close_readers(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return


def _open(store: Path) -> Warehouse:
    """The store, opened for writing; if its file is damaged or gone, it is made anew first.

    Raises:
        StoreError: It cannot be opened, or not be made anew without losing dumps.
    """
    try:
        return Warehouse.open(store, create=True)
    except DamagedStoreError as error:
        write_note(f"{store}: {error.damage}; making it anew out of the archive")
        summary = rebuild_store(store)
        write_note(f"{store}: made anew, with {summary.n_dumps:,} dumps")
        return Warehouse.open(store)
