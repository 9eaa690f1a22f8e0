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
# Rows of views, which the writer keeps for readers: see view_rows.
VIEW_ROWS: dict[str, pa.Schema] = {
    "rows_of_named_event_signatures": table(
        "Rows of the view named_event_signatures.",
        field("event_signature_id", pa.int64(), "Event signature."),
        field("event_name", pa.string(), "Name of the event; '' without any."),
        field("instruction_id", pa.int32(), "Instruction; null if none.", nullable=True),
        field("delegate_id", pa.string(), "Delegate id; null if none.", nullable=True),
        field("kind", pa.string(), "Kind of the event."),
        field("op_type", pa.string(), "Type of the operator; null for other kinds.", nullable=True),
        field("unit", pa.string(), "Unit of the value; null for ticks.", nullable=True),
        field("unit_ns", pa.float64(), "Nanoseconds of the unit; null if none.", nullable=True),
    ),
    "rows_of_named_run_signatures": table(
        "Rows of the view named_run_signatures.",
        field("dump_id", pa.int32(), "Dump of the runs."),
        field("run_signature_id", pa.int64(), "Signature of the runs."),
        field("run", pa.string(), "Name of the runs."),
        field("run_name", pa.string(), "Their name as logged; null if none.", nullable=True),
        field("is_execution", pa.bool_(), "Whether they have a Method::execute."),
        field("has_variants", pa.bool_(), "Whether signatures may share a name or operator."),
    ),
    "rows_of_program_events": table(
        "Rows of the view program_events.",
        field("run_signature_id", pa.int64(), "Signature of the runs."),
        field("event_signature_id", pa.int64(), "Signature of the event."),
        field("place", pa.int32(), "Place in the run signature, from 1."),
        field("ordinal", pa.int32(), "Number among the instructions of that name and delegate id."),
        field("event_name", pa.string(), "Name of the event."),
        field("delegate_id", pa.string(), "Delegate id; null if none.", nullable=True),
        field("instruction_id", pa.int32(), "Instruction; null if none.", nullable=True),
        field("kind", pa.string(), "Kind of the event."),
        field("op_type", pa.string(), "Type of the operator; null for other kinds.", nullable=True),
    ),
    "rows_of_aligned_operators": table(
        "Rows of the view aligned_operators.",
        field("model", pa.string(), "Name of the model."),
        field("backend", pa.string(), "Its backend; null if unknown.", nullable=True),
        field("run", pa.string(), "Name of the runs."),
        field("run_signature_id", pa.int64(), "Signature of the runs."),
        field("event_signature_id", pa.int64(), "Signature of the event."),
        field("event_name", pa.string(), "Name of the event in the newest program."),
        field("delegate_id", pa.string(), "Its delegate id there; null if none.", nullable=True),
        field("ordinal", pa.int32(), "Its ordinal there."),
        field("kind", pa.string(), "Its kind there."),
        field("op_type", pa.string(), "Its type there; null if none.", nullable=True),
    ),
    "view_rows_state": table(
        "One row: the dumps that the kept rows of views belong to.",
        field("last_dump", pa.int32(), "Greatest dump_id."),
        field("last_build", pa.int32(), "Greatest build_id."),
        field("last_device", pa.int32(), "Greatest device_id."),
        field("last_model", pa.int32(), "Greatest model_id."),
        field("content", pa.string(), "Hash of all that the rows follow from."),
        field("views", pa.string(), "SHA-256 of the texts of the views, hex."),
    ),
}  # fmt: skip
TABLES: dict[str, pa.Schema] = STORED | VIEW_ROWS | BOOKKEEPING

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
