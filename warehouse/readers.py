"""Read-only views of an open store, each lent to one thread at a time."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.store import Store


class ReaderPool:
    """Lends readers of an open store, and readers of its newest snapshot while it is reopened."""

    def __init__(self, warehouse: Store, store: Path) -> None:
        self._warehouse, self._store = warehouse, store
        self._idle: dict[frozenset[str] | None, list[Store]] = defaultdict(list)
        self._n_lent, self._is_reopened = 0, False
        self._changed = threading.Condition()

    @contextmanager
    def lend(self, pools: frozenset[str] | None = None) -> Iterator[Store]:
        """A reader for this thread, of these device pools; None for all."""
        with self._changed:
            is_live = not self._is_reopened
            self._n_lent += is_live
            idle = self._idle[pools].pop() if is_live and self._idle[pools] else None
        try:
            reader = idle or self._open(pools, is_live=is_live)
            try:
                yield reader
            except BaseException:  # the reader may be in the middle of a transaction
                reader.close()
                raise
            if is_live:
                self._idle[pools].append(reader)
            else:
                reader.close()
        finally:
            with self._changed:
                self._n_lent -= is_live
                self._changed.notify_all()

    @contextmanager
    def reopening(self) -> Iterator[None]:
        """Let the body reopen the store: no reader of it is open, and others read the snapshot.

        The readers that are lent now end first. The newest snapshot must have all commits. If the
        body fails, others read the snapshot until a later one does not.
        """
        with self._changed:
            self._is_reopened = True
            self._changed.wait_for(lambda: not self._n_lent)
            self.close()
        yield
        with self._changed:
            self._is_reopened = False

    def close(self) -> None:
        """Close the readers that are not lent."""
        for readers in self._idle.values():
            while readers:
                readers.pop().close()

    def _open(self, pools: frozenset[str] | None, *, is_live: bool) -> Store:
        reader = self._warehouse.reader() if is_live else Store.open_snapshot(self._store)
        if reader is None:
            raise StoreError(str(self._store), "is being compacted; ask again in a second")
        if pools is not None:
            reader.limit_to(pools)
        return reader
