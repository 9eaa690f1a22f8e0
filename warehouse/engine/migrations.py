"""Creates a store's tables, and brings an older store's up to date by numbered migrations.

Each migration runs in one transaction. Views and comments are rewritten whenever this version
has different ones from the store. A new store gets everything in one transaction.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple

import duckdb

from tracehouse.warehouse.catalogue.sql_files import read_sql_files
from tracehouse.warehouse.catalogue.views import views_digest
from tracehouse.warehouse.engine.connection import open_memory, transaction, use_database
from tracehouse.warehouse.engine.tables import comment_tables, comments_digest, create_statements
from tracehouse.warehouse.engine.views import store_views
from tracehouse.warehouse.errors import StoreVersionError

# The first released schema. Stores of development versions have lower numbers, and no migration
# exists for them: they are rebuilt from their archives.
FIRST_SCHEMA = 18
_FOLDER = "migrations"


class Migration(NamedTuple):
    """One numbered step and its .sql text."""

    number: int
    name: str
    text: str


def load_migrations() -> list[Migration]:
    """The migrations that ship with tracehouse, in order, from number FIRST_SCHEMA + 1.

    Each is a file sql/migrations/NNN_name.sql. The folder is absent while no migration exists.
    """
    if not (files("tracehouse.sql") / _FOLDER).is_dir():
        return []
    found = read_sql_files(_FOLDER).items()
    listed = [Migration(int(name[:3]), name[4:], text) for name, text in found]
    numbers = [migration.number for migration in listed]
    assert numbers == list(range(FIRST_SCHEMA + 1, FIRST_SCHEMA + 1 + len(numbers)))
    return listed


def supported_schema() -> int:
    """Number of the schema that this version reads and writes."""
    return max((migration.number for migration in load_migrations()), default=FIRST_SCHEMA)


def schema_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Number of the store's schema; 0 for an empty file."""
    try:
        # Fails without the table; duckdb_tables() would examine all of DuckDB's views, too.
        connection.execute("SELECT 1 FROM pragma_storage_info('main.schema_migrations') LIMIT 0")
    except duckdb.CatalogException:
        return 0
    highest = "SELECT coalesce(max(number), 0) FROM schema_migrations"
    ((number,),) = connection.execute(highest).fetchall()
    return int(number)


def check_version(
    connection: duckdb.DuckDBPyConnection, store: str, *, read_only: bool = False
) -> None:
    """Check that this version supports the store's schema; a reader needs the current schema.

    Raises:
        StoreVersionError: Another version wrote the store; the message names the remedy.
    """
    found, known = schema_version(connection), supported_schema()
    has_migration = found == 0 or FIRST_SCHEMA <= found <= known
    if not has_migration or (read_only and found < known):
        raise StoreVersionError(store, found, known, has_migration=has_migration)


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply the missing migrations; after a kill, the next call continues."""
    found = schema_version(connection)
    if not found:
        create_tables(connection, is_described=True)
        return
    for migration in load_migrations():
        if migration.number > found:
            with transaction(connection):
                connection.execute(migration.text)
                _record(connection, migration.number, migration.name)
    if connection.execute("SELECT sha256 FROM schema_views").fetchall() != [(_digest(),)]:
        with transaction(connection):
            _describe(connection)


def create_tables(connection: duckdb.DuckDBPyConnection, *, is_described: bool = False) -> None:
    """Create the tables of a store in an empty database, in one transaction.

    Args:
        connection: Writes the database.
        is_described: Create the views and comments, too, for users of the database.
    """
    # Hundreds of small statements, which need no optimiser.
    connection.execute("PRAGMA disable_optimizer")
    try:
        with transaction(connection):
            connection.execute(";\n".join(create_statements()))
            _record(connection, supported_schema(), "tables")
            if is_described:
                _describe(connection)
    finally:
        connection.execute("PRAGMA enable_optimizer")


def store_in_memory() -> duckdb.DuckDBPyConnection:
    """A connection to a new store in memory: the tables, without views."""
    connection = open_memory()
    use_database(connection)
    create_tables(connection)
    return connection


def _describe(connection: duckdb.DuckDBPyConnection) -> None:
    """Write views and comments into the store, with their digest."""
    comment_tables(connection)
    store_views(connection)
    connection.execute("DELETE FROM schema_views")
    connection.execute("INSERT INTO schema_views VALUES (?)", [_digest()])


@cache
def _digest() -> str:
    return hashlib.sha256((views_digest() + comments_digest()).encode()).hexdigest()


def _record(connection: duckdb.DuckDBPyConnection, number: int, name: str) -> None:
    connection.execute(
        "INSERT INTO schema_migrations VALUES (?, ?, now(), ?)",
        [number, name, version("tracehouse")],
    )
