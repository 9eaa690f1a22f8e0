"""Opening a store's DuckDB file, and DuckDB's errors in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.errors import StoreError, StoreLockedError

FILE_NAME = "warehouse.duckdb"

# Files stay readable by DuckDB 1.5; commits go to the WAL and reach the file when the store closes.
_WRITER: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.5.0",
    "checkpoint_threshold": "1GB",
}


def connect(store: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection to the store's file, which is created with its directory unless read-only.

    Raises:
        StoreError: There is no such store, it is not one, or it cannot be written.
        StoreLockedError: Another process has it open.
    """
    file = store / FILE_NAME
    if read_only and not file.is_file():
        raise StoreError(str(store), "no store here; create one with 'tracehouse ingest PATHS...'")
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(str(store), f"cannot be created: {error.strerror}") from error
    with translated_errors(store):
        connection = duckdb.connect(
            str(file), read_only=read_only, config={} if read_only else _WRITER
        )
        connection.execute("SET TimeZone = 'UTC'")
    return connection


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of the body's writes, or none."""
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:  # an interrupt too must not leave the transaction open
        with suppress(duckdb.Error):  # a dead connection has none; its first error is the cause
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> Iterator[None]:
    """The rows under a name that statements of the body can select from."""
    connection.register(name, rows)
    try:
        yield
    finally:
        connection.unregister(name)


def insert_rows(
    connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, where: str = ""
) -> None:
    """Append rows; `where` is our own text that leaves out rows known already."""
    if rows.num_rows:
        with registered(connection, "new_rows", rows):
            connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM new_rows {where}")  # noqa: S608


@contextmanager
def translated_errors(store: Path) -> Iterator[None]:
    """Turn DuckDB's errors about the file into ours.

    Raises:
        StoreError: The file is unreadable, no database, or the disk is full.
        StoreLockedError: Another process has it open.
    """
    try:
        yield
    except duckdb.Error as error:
        text = str(error)
        if "Could not set lock on file" in text:
            holder = re.search(r"PID (\d+)", text)
            raise StoreLockedError(str(store), int(holder[1]) if holder else None) from error
        raise StoreError(str(store), _explain(text)) from error


def _explain(text: str) -> str:
    first = text.splitlines()[0]
    if re.search("No space left|File too large|Could not write|disk full", text, re.IGNORECASE):
        return (
            f"the disk is full or the file cannot grow ({first}); what was committed is safe: "
            "make room and run the command again"
        )
    if "not a valid DuckDB database" in text:
        return f"{FILE_NAME} is not a tracehouse store; name another directory with --store"
    return first
