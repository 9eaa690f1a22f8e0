"""Results of nights, in the store and its archive; an entry without bytes deletes a result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.upkeep import JUDGED_NIGHTS
from tracehouse.warehouse.archive.entries import JUDGED, Entry
from tracehouse.warehouse.engine.connection import insert_rows, register_temporarily
from tracehouse.warehouse.upkeep.recording import record_upkeep

_REPLACE = """DELETE FROM judged_nights
WHERE (build, settings) IN (SELECT build, settings FROM new_nights)"""

_KEYS = pa.schema([JUDGED_NIGHTS.field(name) for name in ("build", "settings")])


class JudgedNight(NamedTuple):
    """The result of a night; see the table judged_nights."""

    build: str
    settings: str
    inputs: str
    verdict: str
    summary: str
    report: bytes


def keep_night(connection: duckdb.DuckDBPyConnection, store: Path, night: JudgedNight) -> None:
    """Record the result of a night, in place of the last one with its build and settings.

    Raises:
        StoreError: The store cannot be written.
    """
    facts = {name: getattr(night, name) for name in ("settings", "inputs", "verdict", "summary")}
    entry = Entry(
        JUDGED,
        datetime.now(UTC),
        night.build,
        sha256(night.report).hexdigest(),
        detail=json.dumps(facts),
        data=night.report,
    )
    with record_upkeep(connection, store) as history:
        history.add([entry])
        store_nights(connection, [entry])


def delete_nights(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Delete the results of all nights, which are judged again at the next request.

    Raises:
        StoreError: The store cannot be written.
    """
    nights = connection.execute("SELECT build, settings FROM judged_nights").fetchall()
    entries = [
        Entry(JUDGED, datetime.now(UTC), build, detail=json.dumps({"settings": settings}))
        for build, settings in nights
    ]
    if entries:
        with record_upkeep(connection, store) as history:
            history.add(entries)
            store_nights(connection, entries)


def night_row(entry: Entry) -> dict[str, Any]:
    """The row of judged_nights that follows from an entry; without bytes it has no report."""
    night = {"build": entry.name, "judged_at": entry.recorded_at, "report": entry.data}
    return {**night, **json.loads(str(entry.detail))}


def store_nights(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Replace results by those in entries; the last entry of a build and settings counts."""
    rows = {}
    for entry in entries:
        row = night_row(entry)
        rows[row["build"], row["settings"]] = row
    keys = pa.Table.from_pylist(list(rows.values()), _KEYS)
    with register_temporarily(connection, "new_nights", keys):
        connection.execute(_REPLACE)
    kept = [row for row in rows.values() if row["report"] is not None]
    insert_rows(connection, "judged_nights", pa.Table.from_pylist(kept, JUDGED_NIGHTS))
