"""The tables of a lake as DuckDB reads them: exactly the files that its commits make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import duckdb
import pyarrow.dataset as ds

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.sql_files import logged_counters, read_sql_files, read_statement
from warehouse.engine.comments import quote
from warehouse.engine.sql_types import SQL_TYPES
from warehouse.lake.commits import LakeState
from warehouse.lake.place import Lake
from warehouse.lake.producer_rules import with_rules
from warehouse.lake.schemas import FACTS, GROWN, LATER_COLUMNS, NAMES, TABLES


def make_tables(connection: duckdb.DuckDBPyConnection, lake: Lake, state: LakeState) -> None:
    """Make all tables of a lake, for this connection alone."""
    for table in [*FACTS, *NAMES]:
        show_files(connection, lake, table, [file.path for file in state.of(table)])
    for table in [*NAMES, *(table for table in GROWN if table not in NAMES)]:
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
    return f"lake_{table}" if table in NAMES or table in GROWN else table


@cache
def settled_text(table: str) -> str:
    """What selects the rows of a table, of things that dumps share once each; for any engine."""
    if table in LATER_COLUMNS:
        keys = "dump_id", LATER_COLUMNS[table]
        others = ", ".join(name for name in TABLES[table].names if name not in keys)
        text = read_statement("lake_rollup").replace("other_columns", others)
        return text.replace("lake_rollup", raw_name(table))
    texts = dict(read_sql_files("lake"))
    columns = ", ".join(TABLES[table].names)
    plain = f"SELECT DISTINCT {columns} FROM {raw_name(table)}"  # noqa: S608
    if table in ("devices", "models"):  # those that forgotten dumps leave behind do not count
        key = TABLES[table].names[0]
        plain += f" WHERE {key} IN (SELECT {key} FROM dumps)"  # noqa: S608
    text = texts.get(f"{table}.sql", plain)
    if table == "counters":
        return text.replace("logged_counters", logged_counters("events", "event_signatures"))
    return with_rules(text) if table == "event_signatures" else text


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
    if table not in GROWN:
        return f"read_parquet([{files}], hive_partitioning = false)"
    # Older files lack a column; where all do, the empty rows have it.
    rows = f"FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"
    return f"(FROM {_empty(table)} UNION ALL BY NAME {rows})"


def _empty(table: str) -> str:
    columns = ", ".join(f"NULL::{SQL_TYPES[f.type]} AS {f.name}" for f in TABLES[table])
    return f"(SELECT {columns} WHERE false)"
