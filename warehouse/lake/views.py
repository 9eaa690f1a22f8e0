"""The tables of a lake as DuckDB reads them: exactly the files that its commits make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import duckdb
import pyarrow.dataset as ds

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.sql_files import read_sql_files
from warehouse.engine.tables import SQL_TYPES, quote
from warehouse.lake.commits import LakeState
from warehouse.lake.place import Lake
from warehouse.lake.schemas import FACTS, NAMES, TABLES


def make_tables(connection: duckdb.DuckDBPyConnection, lake: Lake, state: LakeState) -> None:
    """Make all tables of a lake, for this connection alone."""
    for table in [*FACTS, *NAMES]:
        show_files(connection, lake, table, [file.path for file in state.of(table)])
    for table in NAMES:
        columns = ", ".join(
            f"CAST({field.name} AS {SQL_TYPES[field.type]}) AS {field.name}"
            for field in TABLES[table]
        )
        text = f"SELECT {columns} FROM ({duckdb_text(settled_text(table))})"  # noqa: S608
        connection.execute(f"CREATE TEMP VIEW {table} AS {text}")


def show_files(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    table: str,
    paths: Sequence[str],
) -> None:
    """Let the rows of a table, as its writers left them, be those in files of a lake.

    Args:
        connection: Where it is to be shown, under its `raw_name`.
        lake: The lake.
        table: The table.
        paths: The files.
    """
    shown = raw_name(table)
    source = _empty(table) if not paths else _read(connection, lake, table, paths)
    columns = ", ".join(TABLES[table].names)
    text = f"SELECT {columns} FROM {source}"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {shown} AS {text}")


def raw_name(table: str) -> str:
    """What the rows of a table are called as its writers left them, before they are settled."""
    return f"lake_{table}" if table in NAMES else table


@cache
def settled_text(table: str) -> str:
    """What selects the rows of a table, of things that dumps share once each; for any engine."""
    columns = ", ".join(TABLES[table].names)
    plain = f"SELECT DISTINCT {columns} FROM {raw_name(table)}"  # noqa: S608
    return dict(read_sql_files("lake")).get(f"{table}.sql", plain)


def register_files(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> str:
    """The name under which DuckDB can select from files of a table, read by Arrow."""
    name = f"files_of_{table}"
    dataset = ds.FileSystemDataset.from_paths(
        [lake.absolute(path) for path in paths],
        schema=TABLES[table],
        format=ds.ParquetFileFormat(),
        filesystem=lake.files,
    )
    connection.register(name, dataset)
    return name


def _read(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> str:
    """What is selected from; DuckDB itself reads local files, and faster."""
    if not lake.is_local:
        return register_files(connection, lake, table, paths)
    files = ", ".join(quote(lake.absolute(path)) for path in paths)
    return f"read_parquet([{files}], hive_partitioning = false)"


def _empty(table: str) -> str:
    columns = ", ".join(f"NULL::{SQL_TYPES[f.type]} AS {f.name}" for f in TABLES[table])
    return f"(SELECT {columns} WHERE false)"
