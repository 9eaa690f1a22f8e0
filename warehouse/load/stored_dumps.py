"""The index of stored dumps, with their manifests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence

import duckdb
import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.engine.connection import open_cursor
from tracehouse.warehouse.errors import StoreError

_LETTERS = 16  # The index keeps 64 bits of a SHA-256
_MOST_RECENT = 1 << 14  # dumps in a set, before they are merged into the sorted array
_STARTS = """
SELECT dump_id, CAST('0x' || left(sha256, ?) AS UBIGINT) AS start FROM dumps ORDER BY start
"""
_MANIFESTS = "SELECT sha256, manifest FROM dumps WHERE sha256 IN (SELECT unnest(?))"
_ARCHIVED = "SELECT sha256 FROM archived_files WHERE sha256 IN (SELECT unnest(?))"


class StoredDumps:
    """The dumps of a store, for any thread.

    The first 64 bits of each SHA-256 are in memory (eight bytes per dump), so nearly all look-ups
    in the store are of dumps that it has.

    Attributes:
        writer: The store's only writing connection.
        indexed: Id of the last dump when the index was read.
    """

    def __init__(self, writer: duckdb.DuckDBPyConnection) -> None:
        """Read the index, and open a cursor for look-ups."""
        self.writer = writer
        self._cursor = open_cursor(writer)
        starts = self._cursor.execute(_STARTS, [_LETTERS]).fetchnumpy()
        self.indexed = int(starts["dump_id"].max(initial=0))
        self._starts: NDArray[np.uint64] = starts["start"]
        self._recent: set[int] = set()  # starts of dumps that were stored since
        self._lock, self._querying = threading.Lock(), threading.Lock()

    def manifests(self, hashes: Sequence[str]) -> dict[str, str]:
        """Manifests of the stored dumps among these, as canonical JSON, by SHA-256."""
        likely = self._likely(hashes)
        return self.look_up(likely) if likely else {}

    def look_up(self, hashes: Sequence[str]) -> dict[str, str]:
        """The result of `manifests`, without using the index.

        Raises:
            StoreError: The store could not be opened again, see `move`.
        """
        with self._querying:
            try:
                return dict(self._cursor.execute(_MANIFESTS, [list(hashes)]).fetchall())
            except duckdb.ConnectionException as error:  # the file could not be opened again
                raise StoreError("the store", "cannot be read at the moment; try again") from error

    def unarchived(self, hashes: Collection[str]) -> set[str]:
        """The dumps whose bytes the archive lacks."""
        with self._querying:
            rows = self._cursor.execute(_ARCHIVED, [list(hashes)]).fetchall()
        return {*hashes} - {row[0] for row in rows}

    def add(self, hashes: Iterable[str]) -> None:
        """Add dumps that may have been stored since."""
        with self._lock:
            self._recent.update(map(_start_of, hashes))
            if len(self._recent) > _MOST_RECENT:
                recent = np.sort(np.fromiter(self._recent, np.uint64, len(self._recent)))
                places = self._starts.searchsorted(recent)
                self._starts = np.insert(self._starts, places, recent)
                self._recent = set()

    def move(self, reopen: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Use the connection that a function opens to the same dumps; look-ups wait meanwhile."""
        with self._querying:
            self._cursor.close()
            self.writer = reopen()
            self._cursor = open_cursor(self.writer)

    def close(self) -> None:
        """Close the cursor."""
        self._cursor.close()

    def _likely(self, hashes: Sequence[str]) -> list[str]:
        """The dumps that are in the index."""
        starts = list(map(_start_of, hashes))
        wanted = np.array(starts, np.uint64)
        with self._lock:
            first = self._starts.searchsorted(wanted)
            is_stored = first < self._starts.searchsorted(wanted, side="right")
            known = zip(hashes, starts, is_stored.tolist(), strict=True)
            return [sha256 for sha256, start, is_in in known if is_in or start in self._recent]


def _start_of(sha256: str) -> int:
    return int(sha256[:_LETTERS], 16)
