"""Checks that a store holds the tables of tracehouse and no objects of anybody else.

A store may come from anybody. A macro, type or trigger in it would run with our queries, a column
may be computed by a foreign expression, and an object with the name of our table may be a view.
"""

from __future__ import annotations

import duckdb

from ingest.schemas.dumps import STORED
from warehouse.engine.connection import DATABASE
from warehouse.engine.tables import SQL_TYPES
from warehouse.errors import StoreError

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
# duckdb_columns() would look into every view too, DuckDB's own included.
_COLUMNS = "SELECT '{0}', name, type FROM pragma_table_info('main.{0}') WHERE dflt_value IS NULL"


def check_no_foreign_objects(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Pass if the attached database holds nothing that runs by itself.

    It must not be the current database yet: its functions would replace those of this check.

    Raises:
        StoreError: It has functions, types, triggers or constraints, which tracehouse never makes.
    """
    foreign = connection.execute(_FOREIGN_OBJECTS, {"database": DATABASE}).fetchone()
    if foreign:
        raise StoreError(
            store,
            f"holds {foreign[0]}, which no tracehouse made: this store is not to be trusted; "
            "ingest its dumps into one of your own",
        )


def check_tables(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Pass if the current database, which is of the present schema, holds the tables of it.

    Raises:
        StoreError: A table is missing, has other columns, or is a view.
    """
    there = {name for (name,) in connection.execute(_TABLES).fetchall()} & STORED.keys()
    columns = " UNION ALL ".join(_COLUMNS.format(name) for name in sorted(there))
    found = set(connection.execute(columns).fetchall()) if there else set()
    wanted = {
        (table, field.name, SQL_TYPES[field.type])
        for table, schema in STORED.items()
        for field in schema
    }
    if not wanted <= found:
        table, column, type_ = min(wanted - found)
        raise StoreError(
            store,
            f"has no table {table} with a column {column} of {type_}: somebody changed it; "
            "ingest its dumps into a new store",
        )
