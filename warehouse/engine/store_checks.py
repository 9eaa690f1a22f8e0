"""Checks that a store contains the tables of tracehouse and no foreign objects.

A store may come from an untrusted source. Its macros, types or triggers would run with our queries,
a column may be computed by a foreign expression, and a view may have the name of our table.
"""

from __future__ import annotations

import duckdb

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.engine.connection import DATABASE
from tracehouse.warehouse.engine.tables import SQL_TYPES, VIEW_ROWS
from tracehouse.warehouse.errors import StoreError

_CHECKED = STORED | VIEW_ROWS
_FOREIGN_OBJECTS = """
SELECT 'the function ' || function_name FROM duckdb_functions()
WHERE database_name = $database AND NOT internal
UNION ALL SELECT 'the type ' || type_name FROM duckdb_types()
WHERE database_name = $database AND NOT internal
UNION ALL SELECT 'the trigger ' || trigger_name FROM duckdb_triggers()
WHERE database_name = $database
UNION ALL SELECT 'the constraint ' || constraint_text FROM duckdb_constraints()
WHERE database_name = $database AND constraint_type NOT IN ('NOT NULL', 'UNIQUE')
ORDER BY 1
"""
_TABLES = """
SELECT table_name FROM duckdb_tables()
WHERE database_name = current_database() AND schema_name = 'main'
"""
# duckdb_columns() would examine every view, too, including DuckDB's own.
_COLUMNS = "SELECT '{0}', name, type FROM pragma_table_info('main.{0}') WHERE dflt_value IS NULL"


def check_no_foreign_objects(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Check that the attached database contains nothing that runs by itself.

    The database must not be the current one yet: its functions would replace those of this check.

    Raises:
        StoreError: The database has functions, types, triggers or constraints; stores have none.
    """
    foreign = connection.execute(_FOREIGN_OBJECTS, {"database": DATABASE}).fetchone()
    if foreign:
        raise StoreError(
            store,
            f"contains {foreign[0]}, which tracehouse did not create: do not trust this store; "
            "ingest its dumps into a store of your own",
        )


def check_tables(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Check that the current database, of the current schema, contains that schema's tables.

    Raises:
        StoreError: A table is missing, has other columns, or is a view.
    """
    there = {name for (name,) in connection.execute(_TABLES).fetchall()} & _CHECKED.keys()
    columns = " UNION ALL ".join(_COLUMNS.format(name) for name in sorted(there))
    found = set(connection.execute(columns).fetchall()) if there else set()
    wanted = {
        (table, field.name, SQL_TYPES[field.type])
        for table, schema in _CHECKED.items()
        for field in schema
    }
    if not wanted <= found:
        table, column, type_ = min(wanted - found)
        raise StoreError(
            store,
            f"has no table {table} with a column {column} of {type_}: the store was modified; "
            "ingest its dumps into a new store",
        )
