"""Results of nights, in the store and in its archive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from ingest.schemas.nights import JUDGED_NIGHTS
from warehouse.archive.entries import JUDGED, Entry
from warehouse.engine.connection import insert_rows, registered
from warehouse.upkeep.recording import recorded_upkeep

_REPLACE = """DELETE FROM judged_nights
WHERE (build, settings) IN (SELECT build, settings FROM new_nights)"""


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
    with recorded_upkeep(connection, store) as history:
        history.add([entry])
        store_nights(connection, [entry])


def store_nights(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Insert the results in entries; of several with one build and settings, the last counts."""
    rows = {}
    for entry in entries:
        facts = json.loads(str(entry.detail))
        night = {"build": entry.name, "judged_at": entry.recorded_at, "report": entry.data}
        rows[entry.name, facts["settings"]] = night | facts
    table = pa.Table.from_pylist(list(rows.values()), JUDGED_NIGHTS)
    with registered(connection, "new_nights", table.select(["build", "settings"])):
        connection.execute(_REPLACE)
    insert_rows(connection, "judged_nights", table)
