"""Brings a store's schema up to date: numbered migrations, each in one transaction.

Views and comments follow, all anew whenever one of them is another than the store has. A new store
gets everything in one transaction.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from typing import NamedTuple

import duckdb

from warehouse.catalogue.sql_files import read_sql_files
from warehouse.engine.comments import comment_tables, comments_digest
from warehouse.engine.connection import transaction
from warehouse.engine.views import store_views, views_digest
from warehouse.errors import OldStoreError, StoreVersionError


class Migration(NamedTuple):
    """One numbered step and its .sql text."""

    number: int
    name: str
    text: str


def load_migrations() -> list[Migration]:
    """The migrations that ship with tracehouse, in order."""
    return [Migration(int(name[:3]), name[4:-4], text) for name, text in read_sql_files("schema")]


def schema_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Number of the last migration applied to the store; 0 for an empty file."""
    try:
        # Only a table has this; duckdb_tables() would look at all of DuckDB's views, too.
        connection.execute("SELECT 1 FROM pragma_storage_info('main.schema_migrations') LIMIT 0")
    except duckdb.CatalogException:
        return 0
    highest = "SELECT coalesce(max(number), 0) FROM schema_migrations"
    ((number,),) = connection.execute(highest).fetchall()
    return int(number)


def check_version(
    connection: duckdb.DuckDBPyConnection, store: str, *, read_only: bool = False
) -> None:
    """Pass if this version knows the store's schema; to read it only, it must be the present one.

    Raises:
        StoreVersionError: A newer tracehouse wrote it.
        OldStoreError: An older one did, and it must be migrated before it is read.
    """
    found, known = schema_version(connection), load_migrations()[-1].number
    if found > known:
        raise StoreVersionError(store, found, known)
    if read_only and found < known:
        raise OldStoreError(store, found, known)


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply what is missing; killed at any moment, the next call goes on from there."""
    found = schema_version(connection)
    if not found:
        create_tables(connection, described=True)
        return
    for migration in load_migrations():
        if migration.number > found:
            with transaction(connection):
                _apply(connection, migration)
    if connection.execute("SELECT sha256 FROM schema_views").fetchall() != [(_digest(),)]:
        with transaction(connection):
            _describe(connection)


def create_tables(connection: duckdb.DuckDBPyConnection, *, described: bool = False) -> None:
    """Make the tables of a store in an empty database, all in one transaction.

    Hundreds of small statements, in which there is nothing to optimise.

    Args:
        connection: Writes the database.
        described: Make the views and comments too, for those who will open it.
    """
    connection.execute("PRAGMA disable_optimizer")
    try:
        with transaction(connection):
            for migration in load_migrations():
                _apply(connection, migration)
            if described:
                _describe(connection)
    finally:
        connection.execute("PRAGMA enable_optimizer")


def _describe(connection: duckdb.DuckDBPyConnection) -> None:
    """Write views and comments into the store, and which they are."""
    comment_tables(connection)
    store_views(connection)
    connection.execute("DELETE FROM schema_views")
    connection.execute("INSERT INTO schema_views VALUES (?)", [_digest()])


@cache
def _digest() -> str:
    return hashlib.sha256((views_digest() + comments_digest()).encode()).hexdigest()


def _apply(connection: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    connection.execute(migration.text)
    if migration.number == 8:
        from warehouse.load.split_statistics import split_statistics  # with numpy, for writers

        split_statistics(connection)
    if migration.number == 10:
        from warehouse.load.reclassified import reclassify_events

        reclassify_events(connection)
    connection.execute(
        "INSERT INTO schema_migrations VALUES (?, ?, now(), ?)",
        [migration.number, migration.name, version("tracehouse")],
    )
