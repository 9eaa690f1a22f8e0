"""Tables that dumps share written anew: one file each, of what dumps still refer to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import duckdb
import pyarrow as pa

from warehouse.lake.answering import LakeAnswering
from warehouse.lake.commits import AddedFile, LakeState, new_id
from warehouse.lake.place import Lake
from warehouse.lake.plans import write_plan
from warehouse.lake.schemas import NAMES, TABLES
from warehouse.lake.tables import writing_table
from warehouse.lake.writing import Written

_BATCH_ROWS = 1 << 13
_RECORDS = "etrecord_id IN (SELECT etrecord_id FROM dumps)"
_TRACED = """(etrecord_id, run_signature_id) IN (
    SELECT (d.etrecord_id, r.run_signature_id)
    FROM dumps AS d JOIN runs AS r ON r.dump_id = d.dump_id
)"""
# Which rows of a table dumps refer to; of other tables all are kept.
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


def write_names_again(
    lake: Lake, state: LakeState, *, least_files: int = 1
) -> tuple[Written, list[str]]:
    """Write tables that dumps share without what no dump refers to, where that changes them.

    Args:
        lake: The lake.
        state: What it consists of.
        least_files: Of how many files a table is written anew in any case, if more than one.

    Returns:
        What was written, and the files that it takes the place of.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    id_ = new_id()
    added: list[AddedFile] = []
    removed: list[str] = []
    write_plan(lake, id_, [f"{table}/{id_}.parquet" for table in NAMES])
    with closing(LakeAnswering(lake, state)) as answering:
        connection = answering.connection("ours")
        for table in NAMES:
            files = state.of(table)
            if not files:
                continue
            rows = sum(file.rows for file in files)
            if len(files) >= max(least_files, 2) or _count(connection, table) < rows:
                added += _write(connection, lake, f"{table}/{id_}.parquet", table)
                removed += [file.path for file in files]
    return Written(id_, added), removed


def _select(table: str, what: str) -> str:
    return f"SELECT {what} FROM {table} WHERE {_USED.get(table, 'true')}"  # noqa: S608


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    ((count,),) = connection.execute(_select(table, "count(*)")).fetchall()
    return int(count)


def _write(
    connection: duckdb.DuckDBPyConnection, lake: Lake, path: str, table: str
) -> Iterator[AddedFile]:
    """The file with the rows that are used; none if there are no such rows."""
    if not _count(connection, table):
        return
    text = _select(table, ", ".join(TABLES[table].names))
    with (
        writing_table(lake, path) as file,
        connection.sql(text).to_arrow_reader(_BATCH_ROWS) as batches,
    ):
        for batch in batches:
            file.write(pa.Table.from_batches([batch]).cast(TABLES[table]))
    yield file.added
