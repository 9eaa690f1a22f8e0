"""What every table and column means, written into the store for those who open it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import duckdb
import pyarrow as pa

from ingest.schemas.dumps import STORED
from ingest.schemas.fields import UTC_US, field, table

BOOKKEEPING: dict[str, pa.Schema] = {
    "schema_migrations": table(
        "One row per migration applied to this store.",
        field("number", pa.int32(), "Number of the migration, from 1."),
        field("name", pa.string(), "Name of its .sql file, without number and suffix."),
        field("applied_at", UTC_US, "Time it was applied."),
        field("applied_by", pa.string(), "Version of tracehouse that applied it."),
    ),
    "schema_views": table(
        "One row: which version of the views and comments this store has.",
        field("sha256", pa.string(), "SHA-256 of the text of them all, hex."),
    ),
}
TABLES: dict[str, pa.Schema] = STORED | BOOKKEEPING


def comments_digest() -> str:
    """What tells these comments from those of another version."""
    return hashlib.sha256("\n".join(_statements()).encode()).hexdigest()


def comment_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Say what each table and column means, as its schema does."""
    connection.execute(";\n".join(_statements()))


def quote(text: str) -> str:
    """A string literal; COMMENT ON takes no parameters."""
    return "'" + text.replace("'", "''") + "'"


def _statements() -> Iterator[str]:
    for name, schema in TABLES.items():
        yield f"COMMENT ON TABLE {name} IS {quote(_doc(schema))}"
        for column in schema:
            yield f"COMMENT ON COLUMN {name}.{column.name} IS {quote(_doc(column))}"


def _doc(described: pa.Schema | pa.Field) -> str:
    return str(described.metadata[b"doc"], "utf-8")
