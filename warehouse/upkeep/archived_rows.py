"""Rows of a store that are records of its archive, or follow from all dumps: which are wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.archive import ARCHIVE_SEGMENTS, ARCHIVED_FILES
from tracehouse.ingest.schemas.decisions import GROUP_DECISIONS
from tracehouse.ingest.schemas.dumps import INGEST_ERRORS
from tracehouse.ingest.schemas.nights import JUDGED_NIGHTS
from tracehouse.ingest.schemas.upkeep import FORGOTTEN_DUMPS
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DECIDED, FORGOTTEN, JUDGED, REFUSED, Entry
from tracehouse.warehouse.archive.segments import read_entries
from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.load.committer import CONFLICT
from tracehouse.warehouse.load.entries import refusal_of
from tracehouse.warehouse.load.ids import merge_dimensions
from tracehouse.warehouse.upkeep.decide import decision_row
from tracehouse.warehouse.upkeep.forget import forgotten_row
from tracehouse.warehouse.upkeep.nights import night_row

_NAMES = ("devices", "models", "builds", "build_order")
_UNARCHIVED = "SELECT 1 FROM dumps WHERE sha256 NOT IN (SELECT sha256 FROM records) LIMIT 1"
_NIGHT = pa.schema(
    [*(one for one in JUDGED_NIGHTS if one.name != "report"), pa.field("report", pa.string())]
)
_SCHEMAS = {
    "archive_segments": ARCHIVE_SEGMENTS,
    "archived_files": ARCHIVED_FILES,
    "ingest_errors": INGEST_ERRORS,
    "forgotten_dumps": FORGOTTEN_DUMPS,
    "group_decisions": GROUP_DECISIONS,
    "judged_nights": _NIGHT,
}


def find_wrong_names(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables of devices, models, builds and their order that do not follow from the dumps."""
    connection.execute("BEGIN")
    try:
        before = {name: _rows(connection, name) for name in _NAMES}
        merge_dimensions(connection)
        return {name for name in _NAMES if _rows(connection, name) != before[name]}
    finally:
        connection.execute("ROLLBACK")


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> pa.Table:
    return connection.sql(f"SELECT * FROM {table} ORDER BY ALL").to_arrow_table()  # noqa: S608


def find_wrong_records(connection: duckdb.DuckDBPyConnection, archive: Archive) -> set[str]:
    """The tables with rows of which the archive has no entry.

    There are none if dumps were ingested without the archive, which then lacks other entries, too,
    or if there is no archive. An ArchiveError is passed on.
    """
    if not archive.segments():
        return set()
    records = {
        name: pa.Table.from_pylist(rows, _SCHEMAS[name])
        for name, rows in _read_records(archive).items()
    }
    with registered(connection, "records", records["archived_files"]):
        if connection.execute(_UNARCHIVED).fetchall():
            return set()
    return {name for name, rows in records.items() if _has_others(connection, name, rows)}


def _has_others(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> bool:
    """Whether a table has rows that are not among these."""
    columns = ", ".join(rows.column_names)
    found = columns.replace("report", "sha256(report)") if table == "judged_nights" else columns
    others = f"SELECT {found} FROM {table} EXCEPT ALL SELECT {columns} FROM records"  # noqa: S608
    with registered(connection, "records", rows):
        ((count,),) = connection.execute(f"SELECT count(*) FROM ({others})").fetchall()  # noqa: S608
    return bool(count)


def _read_records(archive: Archive) -> dict[str, list[dict[str, Any]]]:
    """Rows that follow from the entries of an archive, by table."""
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
    counts: Counter[int] = Counter()
    for segment in archive.segments():
        for number, entry in read_entries(segment, with_data=False):
            counts[number] += 1
            if entry.byte_count is not None:
                facts = {"sha256": entry.sha256, "kind": entry.kind, "segment": number}
                records["archived_files"].append({**facts, "byte_count": entry.byte_count})
            for table, row in _records_of(entry):
                records[table].append(row)
    ledger = ({"segment": number, "entry_count": count} for number, count in counts.items())
    records["archive_segments"] += ledger
    return records


def _records_of(entry: Entry) -> list[tuple[str, dict[str, Any]]]:
    if entry.kind == DECIDED:
        return [("group_decisions", decision_row(entry))]
    if entry.kind == FORGOTTEN:
        return [("forgotten_dumps", forgotten_row(entry))]
    if entry.kind == JUDGED:
        return [("judged_nights", night_row(entry) | {"report": entry.sha256})]
    if entry.kind == REFUSED:
        refusal = refusal_of(entry)
        settled = [refusal._replace(reason="settled_conflict")]
        both = [refusal, *(settled if refusal.reason == CONFLICT else [])]
        return [("ingest_errors", one._asdict()) for one in both]
    return []
