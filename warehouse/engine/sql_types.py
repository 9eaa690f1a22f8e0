"""What DuckDB calls the types of our tables."""

from __future__ import annotations

import pyarrow as pa

SQL_TYPES: dict[pa.DataType, str] = {
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.string(): "VARCHAR",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BLOB",
    pa.list_(pa.int64()): "BIGINT[]",
    pa.list_(pa.string()): "VARCHAR[]",
    pa.decimal128(20, 0): "DECIMAL(20,0)",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
}
