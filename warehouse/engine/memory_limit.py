"""How much memory DuckDB may take: little while dumps come in, more while somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

RESTING = 64 << 20  # it would else hold on to what it wrote, up to most of the machine
APPENDING = 160 << 20  # with which two threads append events
ASKING = 512 << 20  # every canned query needs less over 20 M events

_SETTING = "SELECT parse_formatted_bytes(current_setting('memory_limit'))"


class MemoryLimit:
    """The limit of a database, for any thread; close it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let little be taken from now on."""
        self._connection = connection.cursor()
        ((self._most,),) = self._connection.execute(_SETTING).fetchall()
        self._lock = threading.Lock()
        self._asking = 0
        self._resting = RESTING
        self._limit = self._most
        self.settle()

    @contextmanager
    def raised(self, limit: int = ASKING) -> Iterator[None]:
        """Let more be taken until the body ends, and the next `settle`."""
        with self._lock:
            self._asking += 1
            self._set(max(self._limit, limit))
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def allow(self, byte_count: int) -> None:
        """Let so many bytes more be taken from now on, unless that is more than it once was."""
        with self._lock:
            self._resting = max(self._resting, min(RESTING + byte_count, self._most))
            self._set(max(self._limit, self._resting))

    def settle(self) -> None:
        """Let little be taken again, unless somebody asks or too much is in use."""
        with self._lock:
            if not self._asking:
                with suppress(duckdb.OutOfMemoryException):  # the limit stays what it was
                    self._set(self._resting)

    def close(self) -> None:
        """Leave the limit as it is."""
        self._connection.close()

    def _set(self, limit: int) -> None:
        if limit != self._limit:
            self._connection.execute(f"SET memory_limit = '{limit}B'")
            self._limit = limit
