"""Tables that dumps share, rewritten into one file each: merged, or without unused rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import duckdb
import pyarrow as pa

from warehouse.lake.commits import AddedFile, LakeState, new_id
from warehouse.lake.connections import LakeConnections
from warehouse.lake.layout import table_of
from warehouse.lake.place import Lake
from warehouse.lake.plans import write_plan
from warehouse.lake.schemas import SHARED_TABLES, TABLES
from warehouse.lake.tables import writing_table
from warehouse.lake.views import unmerged_name
from warehouse.lake.writing import WrittenFiles

_BATCH_ROWS = 1 << 13
_BY_KEY = {"tensors", "etrecords"}  # the rows of a key are interchangeable
_RECORDS = "etrecord_id IN (SELECT etrecord_id FROM dumps)"
_TRACED = """(etrecord_id, run_signature_id) IN (
    SELECT (d.etrecord_id, r.run_signature_id)
    FROM dumps AS d JOIN runs AS r ON r.dump_id = d.dump_id
)"""
# Condition for the rows of a table that dumps refer to; other tables keep all rows.
_USED = {
    "builds": "build_id IN (SELECT build_id FROM dumps)",
    "run_signatures": "run_signature_id IN (SELECT run_signature_id FROM runs)",
    "event_signatures": """event_signature_id IN (
        SELECT unnest(events) FROM run_signatures
        WHERE run_signature_id IN (SELECT run_signature_id FROM runs)
        UNION ALL SELECT event_signature_id FROM event_stats
        UNION ALL SELECT event_signature_id FROM delegate_metadata
    )""",
    "tensors": "sha256 IN (SELECT sha256 FROM debug_values)",
    "etrecords": _RECORDS,
    "graph_nodes": _RECORDS,
    "debug_handles": _RECORDS,
    "delegates": _RECORDS,
    "event_origins": _TRACED,
    "event_modules": _TRACED,
    "ingest_errors": "coalesce(sha256 NOT IN (SELECT sha256 FROM forgotten_dumps), true)",
}


def merge_shared_tables(
    lake: Lake, state: LakeState, *, least_files: int
) -> tuple[WrittenFiles, list[str]]:
    """Rewrite tables that dumps share, and that have so many files, into one file each.

    Returns the new files, and the paths of those that they replace.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    tables = [table for table in SHARED_TABLES if len(state.of(table)) >= least_files]
    return _write_tables(lake, state, {table: _all_rows(table) for table in tables})


def drop_unreferenced_rows(lake: Lake, state: LakeState) -> tuple[WrittenFiles, list[str]]:
    """Rewrite shared tables with rows that no dump refers to.

    Returns the new files, and the paths of those that they replace.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    texts = {table: _used_rows(table) for table in SHARED_TABLES if state.of(table)}
    with closing(LakeConnections(lake, state)) as connections:
        connection = connections.connection("trusted")
        changed = {
            table: text
            for table, text in texts.items()
            if _count(connection, text) < sum(file.rows for file in state.of(table))
        }
    return _write_tables(lake, state, changed)


def _all_rows(table: str) -> str:
    columns = ", ".join(TABLES[table].names)
    distinct = "" if table in _BY_KEY else "DISTINCT "
    return f"SELECT {distinct}{columns} FROM {table if table in _BY_KEY else unmerged_name(table)}"  # noqa: S608


def _used_rows(table: str) -> str:
    columns = ", ".join(TABLES[table].names)
    return f"SELECT {columns} FROM {table} WHERE {_USED.get(table, 'true')}"  # noqa: S608


def _count(connection: duckdb.DuckDBPyConnection, text: str) -> int:
    ((count,),) = connection.execute(f"SELECT count(*) FROM ({text})").fetchall()  # noqa: S608
    return int(count)


def _write_tables(
    lake: Lake, state: LakeState, texts: Mapping[str, str]
) -> tuple[WrittenFiles, list[str]]:
    """Write each table's SELECT into one file, which replaces all files of the table."""
    id_ = new_id()
    added: list[AddedFile] = []
    write_plan(lake, id_, [f"{table}/{id_}.parquet" for table in texts])
    with closing(LakeConnections(lake, state)) as connections:
        connection = connections.connection("trusted")
        for table, text in texts.items():
            if _count(connection, text):
                added.append(_write(connection, lake, f"{table}/{id_}.parquet", text))
    return WrittenFiles(id_, added), [file.path for table in texts for file in state.of(table)]


def _write(connection: duckdb.DuckDBPyConnection, lake: Lake, path: str, text: str) -> AddedFile:
    schema = TABLES[table_of(path)]
    with (
        writing_table(lake, path) as file,
        connection.sql(text).to_arrow_reader(_BATCH_ROWS) as batches,
    ):
        for batch in batches:
            file.write(pa.Table.from_batches([batch]).cast(schema))
    return file.added
