"""Raw events that are old enough to go: all that is made out of them stays, and so do their bytes.

What the archive holds can be ingested into another store, or inspected.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.archive.archive import Archive
from warehouse.archive.entries import DROPPED, Entry
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import translated_errors
from warehouse.storage.upkeep import record_upkeep


def find_old_events(
    connection: duckdb.DuckDBPyConnection, *, days: float, kept_builds: str | None = None
) -> pa.Table:
    """Dumps whose events were taken more days ago than that, and are there.

    Args:
        connection: The store.
        days: How old they may be.
        kept_builds: Builds whose events stay, as a glob.

    Returns:
        dump_id, sha256, source, build, n_events, taken_at: of capture, or else of the ingest.
    """
    before = datetime.now(UTC) - timedelta(days=days)
    asked = {"before": before, "kept": kept_builds}
    return connection.sql(read_statement("old_events"), params=asked).to_arrow_table()


def drop_old_events(connection: duckdb.DuckDBPyConnection, store: Path, old: pa.Table) -> None:
    """Drop the events of dumps, as `find_old_events` found them.

    Raises:
        StoreError: The store cannot be written.
    """
    now = datetime.now(UTC)
    rows = old.select(["source", "sha256"]).to_pylist()
    entries = [Entry(DROPPED, now, row["source"], row["sha256"]) for row in rows]
    with translated_errors(store):
        record_upkeep(connection, Archive(store), entries)
