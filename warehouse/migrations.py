"""Brings a store's schema up to date: numbered migrations, each in one transaction, then views."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple

import duckdb

from warehouse.connection import transaction
from warehouse.errors import StoreVersionError
from warehouse.header import Header, parse_header
from warehouse.mann_whitney import exact_null_table


class Migration(NamedTuple):
    """One numbered step and its .sql text."""

    number: int
    name: str
    text: str


def load_migrations() -> list[Migration]:
    """The migrations that ship with tracehouse, in order."""
    return [Migration(int(name[:3]), name[4:-4], text) for name, text in _texts("schema")]


def schema_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Number of the last migration applied to the store; 0 for an empty file."""
    tables = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'schema_migrations'"
    if connection.execute(tables).fetchall() == [(0,)]:
        return 0
    highest = "SELECT coalesce(max(number), 0) FROM schema_migrations"
    ((number,),) = connection.execute(highest).fetchall()
    return int(number)


def check_version(connection: duckdb.DuckDBPyConnection, store: str) -> int:
    """The store's schema version.

    Raises:
        StoreVersionError: A newer tracehouse wrote it.
    """
    found, known = schema_version(connection), load_migrations()[-1].number
    if found > known:
        raise StoreVersionError(store, found, known)
    return found


def is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether nothing is left to migrate."""
    if schema_version(connection) < load_migrations()[-1].number:
        return False
    stored = connection.execute("SELECT sha256 FROM schema_views").fetchall()
    return [row[0] for row in stored] == [_views_digest()]


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply what is missing; killed at any moment, the next call goes on from there."""
    found = schema_version(connection)
    for migration in load_migrations():
        if migration.number > found:
            with transaction(connection):
                _apply(connection, migration)
    if not is_current(connection):
        with transaction(connection):
            _replace_views(connection)


def _apply(connection: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    connection.execute(migration.text)
    if migration.number == 1:
        table = exact_null_table()
        connection.register("exact_null_table", table)
        connection.execute("INSERT INTO mann_whitney_exact BY NAME SELECT * FROM exact_null_table")
        connection.unregister("exact_null_table")
    connection.execute(
        "INSERT INTO schema_migrations VALUES (?, ?, now(), ?)",
        [migration.number, migration.name, version("tracehouse")],
    )


def _replace_views(connection: duckdb.DuckDBPyConnection) -> None:
    for file_name, text in _texts("views"):
        header = parse_header(text, file_name)
        # A view is its file's SELECT; DDL takes no parameters, and names and texts are our own.
        connection.execute(f"CREATE OR REPLACE VIEW {header.name} AS {text}")
        for statement in _comments(header):
            connection.execute(statement)
    connection.execute("DELETE FROM schema_views")
    connection.execute("INSERT INTO schema_views VALUES (?)", [_views_digest()])


def _comments(header: Header) -> list[str]:
    statements = [f"COMMENT ON VIEW {header.name} IS {_quote(header.purpose)}"]
    for column in header.columns:
        place = f"{header.name}.{column.name}"
        statements.append(f"COMMENT ON COLUMN {place} IS {_quote(column.doc)}")
    return statements


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _views_digest() -> str:
    text = "\n".join(name + text for name, text in _texts("views"))
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(folder: str) -> list[tuple[str, str]]:
    """Names and texts of the .sql files in a folder of the sql package, in order of name."""
    found = [path for path in (files("sql") / folder).iterdir() if path.name.endswith(".sql")]
    return [
        (path.name, path.read_text(encoding="utf-8"))
        for path in sorted(found, key=lambda path: path.name)
    ]
