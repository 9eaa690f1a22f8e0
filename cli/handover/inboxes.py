"""Dumps added to a store's inbox, and loaded unless another process has the store open."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tracehouse.cli.output.ingest_report import errors_of, write_refusals
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.stores import open_to_write
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.errors import SourceError
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.store_file import INBOX_FOLDER
from tracehouse.warehouse.errors import StoreLockedError
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.records import Delivery, pack_delivery
from tracehouse.warehouse.inbox.served import is_served, served
from tracehouse.warehouse.load.summary import IngestSummary

_BATCH_DUMPS = 500
_BATCH_SECONDS = 2.0
_SNAPSHOT_SECONDS = 60.0
_MOST_BYTES = 1 << 30  # waiting in the inbox
_PAUSE_SECONDS = 0.5
_LEFT = "dumps are left in its inbox for 'tracehouse store drain'"


@contextmanager
def open_inbox(store: Path) -> Iterator[InboxWriter]:
    """A writer to a store's inbox; when the body ends, its dumps are in the store.

    If another process has the store open, such as a service, loading is left to that process.

    Raises:
        StoreError: The store cannot be opened, or loading failed.
    """
    with ExitStack() as opened:
        try:
            warehouse = opened.enter_context(open_to_write(store, create=True))
        except StoreLockedError as error:
            who = "another process" if error.pid is None else f"process {error.pid}"
            if not is_served(store):
                write_note(f"note: {store}: {who} has the store open; {_LEFT}")
            yield InboxWriter(opened.enter_context(Inbox.open(store)), store)
            return
        consumer = ReportingConsumer(
            warehouse,
            store,
            batch_dumps=_BATCH_DUMPS,
            batch_seconds=_BATCH_SECONDS,
            snapshot_seconds=_SNAPSHOT_SECONDS,
        )
        inbox = opened.enter_context(Inbox.open(store))
        opened.enter_context(served(store))
        with consumer:
            yield InboxWriter(inbox, store, consumer)
        if consumer.problem:
            raise consumer.problem


class ReportingConsumer(Consumer):
    """A consumer that prints what the store refuses."""

    def _take_in(self, summary: IngestSummary) -> None:
        super()._take_in(summary)
        write_refusals(summary.refused, remedy=errors_of(self._store))


class InboxWriter:
    """Adds dumps to a store's inbox, and waits while the inbox is too full.

    Attributes:
        consumer: Loads the inbox into the store; None if another process does so.
    """

    def __init__(self, inbox: Inbox, store: Path, consumer: Consumer | None = None) -> None:
        self._inbox, self._folder, self.consumer = inbox, store / INBOX_FOLDER, consumer

    def __call__(self, dumps: Sequence[Dump]) -> list[bool | SourceError]:
        """Add dumps; returns True for each, as it is not yet known whether it is new, or its fault.

        Raises:
            StoreError: The inbox did not accept them.
        """
        while _waiting_bytes(self._folder) > _MOST_BYTES:
            time.sleep(_PAUSE_SECONDS)
        packed = [_pack(one) for one in dumps]
        deliveries = [one for one in packed if isinstance(one, Delivery)]
        if deliveries:
            self._inbox.accept_all(deliveries)
        if self.consumer is not None:
            self.consumer.count_accepted(len(deliveries))
        return [one if isinstance(one, SourceError) else True for one in packed]


def _pack(dump: Dump) -> Delivery | SourceError:
    try:
        return pack_delivery(dump)
    except SourceError as error:
        return error


def _waiting_bytes(folder: Path) -> int:
    """Size of an inbox's logs, without those deleted meanwhile."""
    total = 0
    for path in folder.glob("*.log"):
        with suppress(OSError):
            total += path.stat().st_size
    return total
