"""The index of stored dumps, with their manifests."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import duckdb
import numpy as np
from numpy.typing import NDArray

_LETTERS = 16  # of a SHA-256 in hexadecimal: 64 bits
_MOST_RECENT = 1 << 14  # dumps in a set, before they are merged into the sorted array
_STARTS = "SELECT CAST('0x' || left(sha256, ?) AS UBIGINT) AS start FROM dumps ORDER BY start"
_KNOWN = "SELECT sha256, manifest FROM dumps WHERE sha256 IN (SELECT unnest(?))"


class StoredDumps:
    """The dumps of a store, for any thread.

    The first 64 bits of each SHA-256 are in memory (eight bytes per dump), so that nearly all
    look-ups in the store succeed.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._starts: NDArray[np.uint64] = connection.execute(_STARTS, [_LETTERS]).fetchnumpy()[
            "start"
        ]
        self._recent: set[int] = set()  # first bits of dumps that were stored later
        self._lock, self._querying = threading.Lock(), threading.Lock()

    def manifests(self, hashes: Sequence[str]) -> dict[str, str]:
        """Manifests of the stored dumps among these, as canonical JSON, by SHA-256."""
        likely = self._likely(hashes)
        return self.look_up(likely) if likely else {}

    def look_up(self, hashes: Sequence[str]) -> dict[str, str]:
        """The result of `manifests`, without using the index."""
        with self._querying:
            return dict(self._connection.execute(_KNOWN, [list(hashes)]).fetchall())

    def add(self, hashes: Iterable[str]) -> None:
        """Add dumps that were stored since the index was read."""
        with self._lock:
            self._recent.update(map(_start_of, hashes))
            if len(self._recent) > _MOST_RECENT:
                recent = np.sort(np.fromiter(self._recent, np.uint64, len(self._recent)))
                places = self._starts.searchsorted(recent)
                self._starts = np.insert(self._starts, places, recent)
                self._recent = set()

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
