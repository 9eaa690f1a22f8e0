"""The memory that DuckDB needs for long values.

DuckDB reads and writes columns by vectors, and holds all long values of a vector in memory. It
fails without enough memory; after a failed checkpoint, a database must be reopened for writing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.engine.store_file import log_of

_LONG_BYTES = 4096  # longer values are stored in separate blocks
_VECTOR_ROWS = 2048
_COPIES = 2  # of a vector: one being read and one being written
_LONGEST = """
SELECT max(CAST(stats.max_string_length AS BIGINT)) FROM pragma_storage_info('{}')
WHERE segment_type IN ('VARCHAR', 'BLOB')
"""


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
