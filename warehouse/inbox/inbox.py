"""The inbox of a store, which accepts dumps while other processes use the store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock

from tracehouse.ingest.dump import Dump
from tracehouse.ingest.durable import sync_path
from tracehouse.warehouse.engine.store_file import ARCHIVE_FOLDER, FILE_NAME, INBOX_FOLDER
from tracehouse.warehouse.errors import StoreError, write_errors
from tracehouse.warehouse.inbox.group_commit import GroupCommit
from tracehouse.warehouse.inbox.log import LogWriter
from tracehouse.warehouse.inbox.records import Delivery, pack_delivery
from tracehouse.warehouse.inbox.spools import Spool


class Inbox:
    """Accepts dumps for a store from any thread or process; see `Warehouse.drain`.

    The inbox does not lock the store. Use it as a context manager, or call `close`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = LogWriter(folder)
        self._writing = Lock()
        self._group = GroupCommit(str(folder), self._write)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Inbox:
        """The inbox of the store in a directory.

        Raises:
            StoreError: The store does not exist, or cannot be written.
        """
        store = Path(path)
        if not (os.path.exists(store / FILE_NAME) or os.path.isdir(store / ARCHIVE_FOLDER)):
            problem = "no store here; create one with 'tracehouse ingest PATHS...'"
            raise StoreError(str(store), problem)
        folder = store / INBOX_FOLDER
        with write_errors(str(folder), problem="cannot be created"):
            folder.mkdir(mode=store.stat().st_mode & 0o777, exist_ok=True)
            sync_path(store)
        return cls(folder)

    def accept(self, dump: Dump) -> str:
        """Accept a dump; when this returns, the dump is on disk and a drain will ingest it.

        Dumps that several threads submit while the disk is busy are written together.

        Returns:
            The dump's SHA-256.

        Raises:
            StoreError: The dump was not accepted, for example because the disk is full.
            SourceError: The dump or a companion cannot be read.
            ManifestError: The dump has no manifest.
        """
        delivery = pack_delivery(dump)
        waiter: Future[str] = Future()
        if self._group.join(delivery, waiter):
            self._group.run()
        return waiter.result()

    def accept_all(self, deliveries: Sequence[Delivery]) -> None:
        """Accept packed dumps; when this returns, all of them are on disk.

        Raises:
            StoreError: No dump was accepted, for example because the disk is full.
        """
        with self._writing:
            self._writer.append(deliveries)

    def spool(self, *, is_zip: bool = False) -> Spool:
        """A spool for a file that arrives in pieces, to be closed. A zip is always on disk."""
        return Spool(self._folder, is_zip=is_zip)

    def _write(self, deliveries: Sequence[Delivery]) -> list[str]:
        self.accept_all(deliveries)
        return [one.sha256 for one in deliveries]

    def close(self) -> None:
        """Close the log; the next delivery would begin another."""
        with self._writing:
            self._writer.close()

    def __enter__(self) -> Inbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
