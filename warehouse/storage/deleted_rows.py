"""Rows that go: events of old dumps, and all of dumps that are forgotten."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from ingest.schemas.dumps import DUMPS, STORED
from ingest.schemas.fields import UTC_US
from warehouse.archive.entries import Entry
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import registered
from warehouse.loading.histograms import fill_histograms

_DROPPED = pa.schema([DUMPS.field("sha256"), pa.field("recorded_at", UTC_US)])
_FORGOTTEN = STORED["forgotten_dumps"]
_PER_DUMP = [name for name in STORED if "dump_id" in STORED[name].names]
_HELD = "SELECT dump_id FROM dumps WHERE sha256 IN (SELECT sha256 FROM dropped)"
_GONE = "SELECT dump_id FROM dumps WHERE sha256 IN (SELECT sha256 FROM forgotten)"


def drop_events(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Drop the events of dumps, which get histograms of them; all else of them stays."""
    rows = [{"sha256": one.sha256, "recorded_at": one.recorded_at} for one in entries]
    with registered(connection, "dropped", pa.Table.from_pylist(rows, _DROPPED)):
        fill_histograms(connection, [row[0] for row in connection.execute(_HELD).fetchall()])
        connection.execute(read_statement("drop_events"))


def delete_dumps(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Delete dumps, what was refused of their bytes, and all that no other dump refers to."""
    rows = [
        {"sha256": one.sha256, "forgotten_at": one.recorded_at, "forgotten_by": one.detail}
        for one in entries
    ]
    with registered(connection, "forgotten", pa.Table.from_pylist(rows, _FORGOTTEN)):
        for name in sorted(_PER_DUMP, key="dumps".__eq__):
            connection.execute(f"DELETE FROM {name} WHERE dump_id IN ({_GONE})")  # noqa: S608
        connection.execute(read_statement("record_forgotten"))
    connection.execute(read_statement("delete_unused"))
    connection.execute(read_statement("settle_names"))
