"""How much memory DuckDB may take: little while dumps come in, more while somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

RESTING = "64MiB"  # it would else hold on to what it wrote, up to most of the machine
ASKING = "512MiB"  # every canned query needs less over 20 M events


class MemoryLimit:
    """The limit of a database, for any thread; close it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let little be taken from now on."""
        self._connection = connection.cursor()
        self._lock = threading.Lock()
        self._asking = 0
        self._is_raised = True
        self.settle()

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let more be taken until the body ends, and the next `settle`."""
        with self._lock:
            self._asking += 1
            if not self._is_raised:
                self._set(ASKING)
                self._is_raised = True
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def settle(self) -> None:
        """Let little be taken again, unless somebody asks or too much is in use."""
        with self._lock:
            if self._is_raised and not self._asking:
                try:
                    self._set(RESTING)
                    self._is_raised = False
                except duckdb.OutOfMemoryException:  # the limit stays what it was
                    pass

    def close(self) -> None:
        """Leave the limit as it is."""
        self._connection.close()

    def _set(self, limit: str) -> None:
        self._connection.execute(f"SET memory_limit = '{limit}'")
