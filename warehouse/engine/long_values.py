"""Long values in a database: how much memory DuckDB needs for those that are near each other.

It reads and writes a column by vectors, and has all long values of one in memory meanwhile; with
less it fails, and if that was a checkpoint, the database cannot be written any more until it is
opened again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.schemas.dumps import STORED
from warehouse.engine.store_file import log_of

_LONG_BYTES = 4096  # of a value that DuckDB keeps apart from the others of its segment
_VECTOR_ROWS = 2048
_COPIES = 2  # of a vector: what is read and what is written
_LONGEST = """
SELECT max(CAST(stats.max_string_length AS BIGINT)) FROM pragma_storage_info('{}')
WHERE segment_type IN ('VARCHAR', 'BLOB')
"""


@dataclass(frozen=True)
class LongValues:
    """How many bytes some long values have, and the longest of them."""

    total_bytes: int = 0
    longest_bytes: int = 0

    def __add__(self, other: LongValues) -> LongValues:
        """These and others."""
        longest = max(self.longest_bytes, other.longest_bytes)
        return LongValues(self.total_bytes + other.total_bytes, longest)

    @property
    def held_bytes(self) -> int:
        """Memory for those of a vector, at most."""
        return _COPIES * min(self.total_bytes, _VECTOR_ROWS * self.longest_bytes)


def find_long_values(tables: Iterable[pa.Table]) -> LongValues:
    """The long values of tables."""
    columns = (column for table in tables for column in table.columns if _has_bytes(column.type))
    each = (pc.binary_length(column).drop_null().to_numpy() for column in columns)
    sizes = np.concatenate([np.zeros(0, np.int64), *each])
    long = sizes[sizes > _LONG_BYTES]
    return LongValues(int(long.sum()), int(long.max(initial=0)))


def stored_long_values(connection: duckdb.DuckDBPyConnection, file: Path) -> LongValues:
    """Those that a store has, by DuckDB's statistics: the longest, and that they fit into its file.

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
