"""Tables with rows that dumps share: written, merged, and rid of rows that no dump refers to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

import duckdb
import pyarrow as pa

from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.lake.changes import LakeChange
from tracehouse.warehouse.lake.commits import AddedFile, new_id
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.ids import DIMENSION_KEYS, LakeIds
from tracehouse.warehouse.lake.layout import shared_path
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.schemas import SHARED_TABLES, TABLES
from tracehouse.warehouse.lake.tables import write_select
from tracehouse.warehouse.lake.views import unmerged_name

_WITH_LAKE_IDS = {f"{kind}s" for kind in DIMENSION_KEYS}
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


def write_shared_rows(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    name: str,
    lake_ids: LakeIds,
    known: Mapping[str, pa.Table],
) -> list[AddedFile]:
    """Write the shared rows of a store, except those of `known` keys, into a file per table.

    Raises:
        LakeError: The lake cannot be written.
    """
    added = []
    for table, keys in SHARED_TABLES.items():
        columns = _columns(table)
        with ExitStack() as stack:
            text = f"SELECT {columns} FROM {table}"  # noqa: S608
            if table in _WITH_LAKE_IDS:
                own = lake_ids.translate(connection.sql(text).to_arrow_table(), TABLES[table])
                stack.enter_context(registered(connection, "own_rows", own))
                text = f"SELECT {columns} FROM own_rows"  # noqa: S608
            if table in known:
                stack.enter_context(registered(connection, "known_keys", known[table]))
                same = " AND ".join(f"k.{key} IS NOT DISTINCT FROM t.{key}" for key in keys)
                text = f"SELECT t.* FROM ({text}) AS t ANTI JOIN known_keys AS k ON {same}"  # noqa: S608
            added += write_select(connection, lake, shared_path(table, name), text)
    return added


def merge_shared_tables(change: LakeChange, *, least_files: int) -> None:
    """Rewrite tables that dumps share, and that have so many files, into one file each.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    tables = [table for table in SHARED_TABLES if len(change.state.of(table)) >= least_files]
    _rewrite_tables(change, {table: _all_rows(table) for table in tables})


def drop_unreferenced_rows(change: LakeChange) -> None:
    """Rewrite shared tables with rows that no dump refers to.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    changed = {}
    with reading_lake(change.lake, change.state) as connection:
        for table in filter(change.state.of, SHARED_TABLES):
            used = f"FROM {table} WHERE {_USED.get(table, 'true')}"
            ((count,),) = connection.execute(f"SELECT count(*) {used}").fetchall()
            if count < sum(file.rows for file in change.state.of(table)):
                changed[table] = f"SELECT {_columns(table)} {used}"
    _rewrite_tables(change, changed)


def _columns(table: str) -> str:
    return ", ".join(TABLES[table].names)


def _all_rows(table: str) -> str:
    if table in _BY_KEY:
        return f"SELECT {_columns(table)} FROM {table}"  # noqa: S608
    return f"SELECT DISTINCT {_columns(table)} FROM {unmerged_name(table)}"  # noqa: S608


def _rewrite_tables(change: LakeChange, texts: Mapping[str, str]) -> None:
    """Write each table's SELECT into one file, which replaces all files of the table."""
    name = new_id()
    change.plan(name, [shared_path(table, name) for table in texts])
    with reading_lake(change.lake, change.state) as connection:
        for table, text in texts.items():
            change.added += write_select(connection, change.lake, shared_path(table, name), text)
            change.removed += [file.path for file in change.state.of(table)]
