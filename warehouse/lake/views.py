"""The tables of a lake as DuckDB views over exactly the files of its commits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import duckdb

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.sql_files import read_sql_files
from tracehouse.warehouse.engine.build_order import read_build_order
from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.engine.tables import SQL_TYPES, quote
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.schemas import FACTS, SHARED_TABLES, TABLES
from tracehouse.warehouse.lake.tables import open_files


def make_tables(connection: duckdb.DuckDBPyConnection, lake: Lake, state: LakeState) -> None:
    """Create all tables of a lake as temporary views."""
    for table in [*FACTS, *SHARED_TABLES]:
        show_files(connection, lake, table, [file.path for file in state.of(table)])
    for table in SHARED_TABLES:
        columns = ", ".join(
            f"CAST({field.name} AS {SQL_TYPES[field.type]}) AS {field.name}"
            for field in TABLES[table]
        )
        text = f"SELECT {columns} FROM ({duckdb_text(shared_select(table))})"  # noqa: S608
        connection.execute(f"CREATE TEMP VIEW {table} AS {text}")


def make_order(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table build_order of a lake, whose writers do not know each other's builds."""
    with registered(connection, "ordered", read_build_order(connection)):
        connection.execute("CREATE TEMP TABLE build_order AS SELECT * FROM ordered")


def show_files(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> None:
    """Create a table's view, named `unmerged_name`, over these files."""
    shown = unmerged_name(table)
    source = _source(connection, lake, table, paths)
    columns = ", ".join(TABLES[table].names)
    text = f"SELECT {columns} FROM {source}"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {shown} AS {text}")


def unmerged_name(table: str) -> str:
    """Name of the view with a table's rows as written, including duplicates of several writers."""
    return f"lake_{table}" if table in SHARED_TABLES else table


@cache
def shared_select(table: str) -> str:
    """The SELECT that merges duplicate rows of several writers in a shared table; portable."""
    columns = ", ".join(TABLES[table].names)
    plain = f"SELECT DISTINCT {columns} FROM {unmerged_name(table)}"  # noqa: S608
    if table in ("devices", "models"):  # without those of forgotten dumps
        key = TABLES[table].names[0]
        plain += f" WHERE {key} IN (SELECT {key} FROM dumps)"  # noqa: S608
    return read_sql_files("lake").get(table, plain)


def register_files(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> str:
    """Register files of a table, read by Arrow, with DuckDB; the name to select from."""
    name = f"files_of_{table}"
    connection.register(name, open_files(lake, table, paths))
    return name


def _source(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> str:
    """The text after FROM; DuckDB itself reads local files, which is faster than Arrow."""
    if not (lake.is_local and paths):
        return register_files(connection, lake, table, paths)
    files = ", ".join(quote(lake.absolute(path)) for path in paths)
    return f"read_parquet([{files}], hive_partitioning = false)"
