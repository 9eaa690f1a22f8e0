"""DuckDB's memory limit: low while dumps are ingested, raised while queries run."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.engine.store_file import log_of
from tracehouse.warehouse.errors import StoreError

RESTING = 64 << 20  # without a limit, DuckDB caches written pages, up to most of the memory
APPENDING = 160 << 20  # enough for two threads to append events
ASKING = 512 << 20  # enough for every canned query over 20 M events

VARIABLE = "TRACEHOUSE_MEMORY"
_SIZE = re.compile(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", re.IGNORECASE)
_SETTING = "SELECT parse_formatted_bytes(current_setting('memory_limit'))"

_LONG_BYTES = 4096  # longer values are stored in separate blocks
_VECTOR_ROWS = 2048
_COPIES = 2  # of a vector: one being read and one being written
_LONGEST = """
SELECT max(CAST(stats.max_string_length AS BIGINT)) FROM pragma_storage_info('{}')
WHERE segment_type IN ('VARCHAR', 'BLOB')
"""


def reading_limit() -> dict[str, str | int]:
    """DuckDB's settings of a store opened to be read: the memory limit of $TRACEHOUSE_MEMORY.

    Without the variable, DuckDB takes up to 80 % of the machine's memory. Data beyond the limit
    goes to a temporary folder.

    Raises:
        StoreError: The variable is not a size.
    """
    size = os.environ.get(VARIABLE, "")
    if size and not _SIZE.fullmatch(size):
        raise StoreError(f"${VARIABLE}", f"{size!r}, wanted a size such as 512MB or 2GB")
    return {"memory_limit": size} if size else {}


class MemoryLimit:
    """The memory limit of a database, for use by any thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection.cursor()
        ((self._most,),) = self._connection.execute(_SETTING).fetchall()
        self._lock = threading.Lock()
        self._asking = 0
        self._is_open = True
        self._resting = RESTING
        self._limit = self._most
        self.lower()

    @contextmanager
    def raise_limit(self, limit: int = ASKING) -> Iterator[None]:
        """Raise the limit for the body, and afterwards until the next `lower`."""
        with self._lock:
            self._asking += 1
            self._set(max(self._limit, limit))
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def allow(self, byte_count: int) -> None:
        """Raise the low limit by `byte_count`, at most to DuckDB's original limit."""
        with self._lock:
            self._resting = max(self._resting, min(RESTING + byte_count, self._most))
            self._set(max(self._limit, self._resting))

    def lower(self) -> None:
        """Lower the limit, unless a `raise_limit` body runs or too much memory is in use."""
        with self._lock:
            if not self._asking:
                with suppress(duckdb.OutOfMemoryException):  # the limit stays unchanged
                    self._set(self._resting)

    @contextmanager
    def follow_reopen(self, opened: Callable[[], duckdb.DuckDBPyConnection]) -> Iterator[None]:
        """Let the body close the database, and apply the limit to the one that it opens.

        If it opens none, limits are kept for the one that a later body opens.
        """
        with self._lock:
            self._connection.close()
            self._is_open = False
            yield
            self._connection, self._is_open = opened().cursor(), True
            self._connection.execute(f"SET memory_limit = '{self._limit}B'")

    def close(self) -> None:
        """Close the cursor; the limit stays."""
        self._connection.close()

    def _set(self, limit: int) -> None:
        if limit != self._limit and self._is_open:
            self._connection.execute(f"SET memory_limit = '{limit}B'")
        self._limit = limit


@dataclass(frozen=True)
class LongValues:
    """Total bytes of some long values, and bytes of the longest."""

    total_bytes: int = 0
    longest_bytes: int = 0

    def __add__(self, other: LongValues) -> LongValues:
        longest = max(self.longest_bytes, other.longest_bytes)
        return LongValues(self.total_bytes + other.total_bytes, longest)

    @property
    def held_bytes(self) -> int:
        """Memory that DuckDB needs at most for the long values of one vector."""
        return _COPIES * min(self.total_bytes, _VECTOR_ROWS * self.longest_bytes)


def find_long_values(tables: Iterable[pa.Table]) -> LongValues:
    """The long values of tables."""
    columns = (column for table in tables for column in table.columns if _has_bytes(column.type))
    each = (pc.binary_length(column).drop_null().to_numpy() for column in columns)
    sizes = np.concatenate([np.zeros(0, np.int64), *each])
    long = sizes[sizes > _LONG_BYTES]
    return LongValues(int(long.sum()), int(long.max(initial=0)))


def stored_long_values(connection: duckdb.DuckDBPyConnection, file: Path) -> LongValues:
    """A bound on a store's long values: DuckDB's longest value, and the size of the whole file.

    An OSError is passed on.
    """
    longest = 0
    for name, schema in STORED.items():
        if any(map(_has_bytes, schema.types)):
            ((most,),) = connection.execute(_LONGEST.format(name)).fetchall()
            longest = max(longest, most or 0)
    if longest <= _LONG_BYTES:
        return LongValues()
    return LongValues(
        sum(one.stat().st_size for one in (file, log_of(file)) if one.exists()), longest
    )


def _has_bytes(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_))
