"""A running service: the store, its inbox and consumer, and the parts that take requests."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.cli.output.streams import write_note
from tracehouse.cli.serve.access.authorization import Access
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.cli.serve.uploads.admission import Admission
from tracehouse.cli.serve.uploads.commits import Commits
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.store_file import INBOX_FOLDER
from tracehouse.warehouse.errors import DamagedStoreError, StoreError, WarehouseError
from tracehouse.warehouse.inbox.accept import Acceptor
from tracehouse.warehouse.inbox.inbox import FoundService, Inbox, mark_served
from tracehouse.warehouse.inbox.spools import clear_spools
from tracehouse.warehouse.load.children import ChildSidecars
from tracehouse.warehouse.sandbox.workers import Sandbox
from tracehouse.warehouse.store import Store

if TYPE_CHECKING:
    from tracehouse.cli.serve.nights import Nights
    from tracehouse.cli.serve.verifier import Verifier

_SPOOLING_THREADS = 4
_PARSING_THREADS = 2  # each may use a process that decodes


class Service:
    """An open service; close it when the last request is answered.

    Attributes:
        store: The store's directory.
        warehouse: The store, which only functions of `Consumer.perform` may write.
        settings: Settings of the service.
        config: Settings file of reports, if it was given.
        started: When the service was opened, on the monotonic clock.
        inbox: Inbox of the store.
        consumer: Indexes accepted dumps.
        access: Identifies clients.
        admission: Admits or defers uploads.
        acceptor: Accepts dumps into the inbox.
        commits: Accepts dumps from the event loop.
        spooling: Threads that write large bodies to disk.
        inflating: The thread that unpacks bodies.
        parsing: Threads that wait for long sidecars to be parsed.
        sidecars: Parses the texts beside uploaded dumps, long ones in another process.
        problem: Why the service was not closed properly; None if it was.
        sandbox: Answers SQL from untrusted clients.
    """

    def __init__(
        self, store: Path, settings: ServiceSettings, *, config: Path | None = None
    ) -> None:
        """Open a store as its only writer, and begin to index accepted dumps.

        Raises:
            StoreError: The store cannot be opened; see `Store.open_to_write`.
        """
        self.store, self.settings, self.config = store, settings, config
        self.started = time.monotonic()
        with ExitStack() as opened:
            self.warehouse = opened.enter_context(_open(store))
            self.warehouse.kept_snapshots = settings.kept_snapshots
            self._announce = opened.enter_context(mark_served(store))
            self.access = Access(store)
            self.sandbox = Sandbox(store, settings.sql_bounds)
            opened.callback(self.sandbox.close)
            self.inbox = opened.enter_context(Inbox.open(store))
            self.consumer = Consumer(
                self.warehouse,
                store,
                batch_dumps=settings.batch_dumps,
                batch_seconds=settings.batch_seconds,
                snapshot_seconds=settings.snapshot_seconds,
            )
            self.consumer.report = write_note
            opened.enter_context(self.consumer)
            clear_spools(store / INBOX_FOLDER)
            self.admission = Admission(store, settings, self.consumer.known)
            self.spooling = opened.enter_context(ThreadPoolExecutor(_SPOOLING_THREADS, "spooling"))
            self.inflating = opened.enter_context(ThreadPoolExecutor(1, "inflating"))
            self.parsing = opened.enter_context(ThreadPoolExecutor(_PARSING_THREADS, "parsing"))
            self.sidecars = ChildSidecars(self.warehouse.children)
            committing = opened.enter_context(ThreadPoolExecutor(1, "committing"))
            self.acceptor = Acceptor(self.inbox, self.consumer.known, self.consumer.count_accepted)
            self.acceptor.agree = self.consumer.refusals.agree
            self.commits = Commits(
                self.acceptor, committing, self.spooling, lambda: self.admission.uploads
            )
            self.problem: WarehouseError | None = None
            self._completing = threading.Lock()
            self._nights: Nights | None = None
            self._opened = opened.pop_all()

    def complete(self) -> tuple[Nights, Verifier]:
        """What uploads need not wait for at the start, and is begun by the first call.

        Returns:
            What judges nights and keeps their reports; and what verifies the dumps in turn.
        """
        from tracehouse.cli.serve.nights import Nights  # slow imports
        from tracehouse.cli.serve.verifier import Verifier

        with self._completing:
            if self._nights is None:
                nights = Nights(
                    self.warehouse,
                    self.store,
                    self.consumer,
                    settings=self.settings,
                    config=self.config,
                )
                self._opened.enter_context(nights.judge_in_thread())
                self._verifier = Verifier(self.warehouse, self.store, self.consumer, self.settings)
                self._opened.enter_context(self._verifier.verify_in_thread())
                self._nights = nights
            return self._nights, self._verifier

    @property
    def nights(self) -> Nights:
        """Judges nights and keeps their reports."""
        return self.complete()[0]

    @property
    def verifier(self) -> Verifier:
        """Verifies the dumps in turn."""
        return self.complete()[1]

    def announce(self, url: str) -> None:
        """Let commands of the store's owner find the service at its URL."""
        try:
            self._announce(FoundService(url, self.access.key))
        except StoreError as error:
            write_note(f"{error}; until the next start, commands need --url {url}")

    def reader(self, pools: frozenset[str] | None = None) -> AbstractContextManager[Store]:
        """A reader of the live store for this thread, of these device pools; None for all."""
        return self.consumer.readers.lend(pools)

    def close(self) -> None:
        """Close the store; dumps that are not indexed yet wait in the inbox.

        Raises:
            WarehouseError: The store could not be closed properly.
        """
        try:
            self.consumer.leave_backlog()
            self._opened.close()
        except WarehouseError as error:
            self.problem = error
            raise


def _open(store: Path) -> Store:
    """Open a store for writing, after a rebuild if its file is damaged or missing."""
    try:
        return Store.open_to_write(store, create=True, is_patient=True)
    except DamagedStoreError as error:
        from tracehouse.warehouse.upkeep.rebuild import rebuild_store  # a slow import

        write_note(f"{store}: {error.damage}; rebuilding the store from the archive")
        summary = rebuild_store(store)
        write_note(f"{store}: rebuilt, with {summary.n_dumps:,} dumps")
        return Store.open_to_write(store, is_patient=True)
