"""Retention: old raw events are dropped; rollups and archived dumps stay.

Archived dumps can be ingested into another store, or inspected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.ingest.schemas.dumps import DUMPS
from tracehouse.ingest.schemas.fields import UTC_US
from tracehouse.warehouse.archive.entries import DROPPED, Entry
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.recording import record_upkeep

_DROPPED = pa.schema([DUMPS.field("sha256"), pa.field("recorded_at", UTC_US)])
_HELD = "SELECT dump_id FROM dumps WHERE sha256 IN (SELECT sha256 FROM dropped)"
# Dropped in one transaction, which holds them in memory.
_MOST_DUMPS, _MOST_EVENTS = 50_000, 10_000_000
_MOST_DAYS = 365_000  # more would exceed the range of dates


def find_old_events(
    connection: duckdb.DuckDBPyConnection, *, days: int, kept_builds: str | None = None
) -> pa.Table:
    """Dumps that still have events, and are older than a number of days.

    Args:
        connection: The store.
        days: Greatest age of events that stay.
        kept_builds: Builds whose events stay, as a glob.

    Returns:
        dump_id, sha256, source, build, n_events, event_bytes (estimated size in the file),
        taken_at (time of capture, otherwise of the ingest).
    """
    ((event_bytes,),) = connection.execute(read_statement("event_bytes")).fetchall()
    before = datetime.now(UTC) - timedelta(days=min(days, _MOST_DAYS))
    values = {
        "before": before,
        "kept": kept_builds and compose(kept_builds),
        "event_bytes": event_bytes,
    }
    return connection.sql(read_statement("old_events"), params=values).to_arrow_table()


def sum_by_build(old: pa.Table) -> pa.Table:
    """Builds with old events, by name: dump_count, event_count, event_bytes, times of the dumps."""
    totals = (
        ("dump_id", "count"), ("n_events", "sum"), ("event_bytes", "sum"),
        ("taken_at", "min"), ("taken_at", "max"),
    )  # fmt: skip
    names = ["build", "dump_count", "event_count", "event_bytes", "first_taken_at", "last_taken_at"]
    sums = old.group_by("build").aggregate(totals)
    columns = ["build", *(f"{name}_{how}" for name, how in totals)]
    return sums.select(columns).rename_columns(names).sort_by("build")


def drop_old_events(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    old: pa.Table,
    *,
    progress: Callable[[IngestProgress], None] | None = None,
) -> None:
    """Drop the events of dumps in a result of `find_old_events`, some dumps at a time.

    Raises:
        StoreError: The store cannot be written; the events of earlier dumps are dropped.
    """
    now, n_events = datetime.now(UTC), old["n_events"].to_pylist()
    parts = batches(range(old.num_rows), n_events.__getitem__, _MOST_EVENTS, _MOST_DUMPS)
    for numbers in parts:
        rows = old.slice(numbers[0], len(numbers)).select(["source", "sha256"]).to_pylist()
        entries = [Entry(DROPPED, now, row["source"], row["sha256"]) for row in rows]
        with record_upkeep(connection, store) as history:
            history.add(entries)
            drop_events(connection, entries)
        if progress:
            progress(IngestProgress(numbers[-1] + 1, old.num_rows, 0, 0))


def drop_events(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Drop the events of dumps, which get histograms first; their other rows stay."""
    rows = [{"sha256": one.sha256, "recorded_at": one.recorded_at} for one in entries]
    with register_temporarily(connection, "dropped", pa.Table.from_pylist(rows, _DROPPED)):
        dumps = [row[0] for row in connection.execute(_HELD).fetchall()]
        connection.execute(read_statement("fill_histograms"), {"dumps": dumps})
        connection.execute(read_statement("drop_events"))
