"""The tables of a store, created from their Arrow schemas, with comments for users."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.ingest.schemas.fields import UTC_US, field, table

BOOKKEEPING: dict[str, pa.Schema] = {
    "schema_migrations": table(
        "One row per migration applied to this store; the first row is its creation.",
        field("number", pa.int32(), "Number of the schema that the migration led to."),
        field("name", pa.string(), "Name of its .sql file, without number and suffix."),
        field("applied_at", UTC_US, "Time it was applied."),
        field("applied_by", pa.string(), "Version of tracehouse that applied it."),
    ),
    "schema_views": table(
        "One row: the version of the views and comments in this store.",
        field("sha256", pa.string(), "SHA-256 of the text of all views and comments, hex."),
    ),
}
TABLES: dict[str, pa.Schema] = STORED | BOOKKEEPING

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
    UTC_US: "TIMESTAMP WITH TIME ZONE",
}

# DuckDB would choose the same; naming the compression saves a quarter of the insert's time.
_COMPRESSION: dict[str, Mapping[str, str]] = {
    "events": {
        "dump_id": "rle",
        "run_signature_id": "rle",
        "event_signature_id": "rle",
        "run_index": "bitpacking",
        "chain_index": "rle",
        "start_offset_ticks": "bitpacking",
        "duration_ticks": "bitpacking",
        "flags": "rle",
    },
    "run_totals": {
        "dump_id": "rle",
        "run_index": "bitpacking",
        "run_signature_id": "rle",
        "execute_ticks": "alp",
        "kernel_ticks": "alp",
        "delegate_ticks": "alp",
    },
    "event_totals": {
        "dump_id": "rle",
        "run_signature_id": "rle",
        "chain_index": "rle",
        "event_count": "bitpacking",
        "total_ticks": "alp",
    },
    "event_histograms": {
        "dump_id": "rle",
        "run_signature_id": "rle",
        "event_signature_id": "rle",
        "bucket": "bitpacking",
        "event_count": "bitpacking",
    },
}


def create_statements() -> Iterator[str]:
    """One CREATE TABLE per table.

    There are no foreign keys and indexes: the single writer ensures valid references, and
    constraints make ingest 3.5 times slower.
    """
    for name, schema in TABLES.items():
        compression = _COMPRESSION.get(name, {})
        columns = ", ".join(_column(field, compression.get(field.name)) for field in schema)
        yield f"CREATE TABLE {name} ({columns})"


def _column(column: pa.Field, compression: str | None) -> str:
    text = f"{column.name} {SQL_TYPES[column.type]}"
    if not column.nullable:
        text += " NOT NULL"
    return f"{text} USING COMPRESSION {compression}" if compression else text


def comments_digest() -> str:
    """A hash that differs between versions of the comments."""
    return hashlib.sha256("\n".join(_comments()).encode()).hexdigest()


def comment_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the documentation of each table and column into the store."""
    connection.execute(";\n".join(_comments()))


def quote(text: str) -> str:
    """A string literal; COMMENT ON accepts no parameters."""
    return "'" + text.replace("'", "''") + "'"


def _comments() -> Iterator[str]:
    for name, schema in TABLES.items():
        yield f"COMMENT ON TABLE {name} IS {quote(_doc(schema))}"
        for column in schema:
            yield f"COMMENT ON COLUMN {name}.{column.name} IS {quote(_doc(column))}"


def _doc(described: pa.Schema | pa.Field) -> str:
    return str(described.metadata[b"doc"], "utf-8")
