"""A store whose dropped events are read from a lake."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pyarrow as pa

from tracehouse.warehouse.catalogue.views import reads_table
from tracehouse.warehouse.engine.store_connections import StoreConnections, Trust
from tracehouse.warehouse.lake.commits import read_state
from tracehouse.warehouse.lake.damage import lake_errors
from tracehouse.warehouse.lake.ids import locate_dumps
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.schemas import TABLES
from tracehouse.warehouse.lake.tables import read_columns
from tracehouse.warehouse.lake.views import register_files

_DROPPED = """
SELECT d.sha256, d.dump_id
FROM warehouse.main.dropped_events AS e JOIN warehouse.main.dumps AS d ON d.dump_id = e.dump_id
"""
_ALL_EVENTS = """
CREATE TEMP VIEW events AS
SELECT dump_id, {0} FROM warehouse.main.events
UNION ALL SELECT f.dump_id, {0} FROM {1} AS e JOIN events_in_lake AS f ON f.lake_id = e.dump_id
"""
_STILL_DROPPED = """
CREATE TEMP VIEW dropped_events AS
SELECT * FROM warehouse.main.dropped_events
WHERE dump_id NOT IN (SELECT dump_id FROM events_in_lake)
"""
_EVENTS_IN_LAKE = pa.schema([("dump_id", pa.int32()), ("lake_id", pa.int64())])


class StoreWithLake(StoreConnections):
    """Connections to a store's file whose views also show its dropped events, from a lake."""

    def __init__(
        self,
        store: Path,
        file: Path,
        lake: Lake,
        *,
        writer: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        """Connect to a lake and a store's file, which the caller protects from changes.

        Raises:
            LakeError: The lake does not exist, or cannot be read.
        """
        super().__init__(store, file, writer=writer)
        lake.check()
        self._lake, self._state = lake, read_state(lake)
        self._found = 0

    def note(self, connection: duckdb.DuckDBPyConnection, text: str) -> str:
        """A note about data that the answer may lack, and about events from the lake."""
        missed = super().note(connection, text)
        if not (self._found and reads_table(text, "events")):
            return missed
        read = f"raw events of {self._found:,} dumps were read from {self._lake.name}"
        return f"{read}; {missed}" if missed else read

    def explaining_errors(self) -> AbstractContextManager[None]:
        """Replace errors of the body if a file of the lake is missing or truncated."""
        return lake_errors(self._lake, self._state)

    def _open(self, trust: Trust) -> duckdb.DuckDBPyConnection:
        connection = super()._open(trust)
        dropped = dict(connection.execute(_DROPPED).fetchall())
        if dropped:
            with self.explaining_errors():
                self._show(connection, dropped)
        return connection

    def _show(self, connection: duckdb.DuckDBPyConnection, dropped: dict[str, int]) -> None:
        """Add the lake's events to `events`, and remove their dumps from `dropped_events`."""
        located = [d for d in locate_dumps(self._lake, self._state) if d.sha256 in dropped]
        files = self._state.files_of({dump.part for dump in located})
        tables = (read_columns(self._lake, path, "dump_id") for path in files["dropped_events"])
        lacking = {dump_id for rows in tables for (dump_id,) in rows}
        ids = {dump.sha256: dump.dump_id for dump in located if dump.dump_id not in lacking}
        self._found = len(ids)
        if not ids:
            return
        rows = {"dump_id": [dropped[one] for one in ids], "lake_id": list(ids.values())}
        connection.register("events_in_lake", pa.table(rows, schema=_EVENTS_IN_LAKE))
        source = register_files(connection, self._lake, "events", files["events"])
        rest = ", ".join(TABLES["events"].names[1:])
        connection.execute(_ALL_EVENTS.format(rest, source))
        connection.execute(_STILL_DROPPED)
