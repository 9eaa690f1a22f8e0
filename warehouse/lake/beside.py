"""A store beside a lake: events that were dropped from the store are read from the lake."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.engine.answering import Answering, Whose
from warehouse.engine.views import reads_events
from warehouse.lake.commits import read_state
from warehouse.lake.damage import damage_told
from warehouse.lake.held import files_of_parts, find_dumps, read_numbers
from warehouse.lake.place import Lake
from warehouse.lake.schemas import TABLES
from warehouse.lake.views import register_files

_DROPPED = """
SELECT d.sha256, d.dump_id
FROM warehouse.main.dropped_events AS e JOIN warehouse.main.dumps AS d ON d.dump_id = e.dump_id
"""
_ALL = """
CREATE TEMP VIEW events AS
SELECT dump_id, {0} FROM warehouse.main.events
UNION ALL SELECT f.dump_id, {0} FROM {1} AS e JOIN events_in_lake AS f ON f.shared_id = e.dump_id
"""
_MISSED = """
CREATE TEMP VIEW dropped_events AS
SELECT * FROM warehouse.main.dropped_events
WHERE dump_id NOT IN (SELECT dump_id FROM events_in_lake)
"""
_FOUND = pa.schema([("dump_id", pa.int32()), ("shared_id", pa.int64())])


class BesideLake(Answering):
    """Connections to a store's file that see the events which were dropped from it in a lake."""

    def __init__(
        self,
        store: Path,
        file: Path,
        lake: Lake,
        *,
        writer: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        """Name the file, which somebody else keeps from being changed, and the lake.

        Raises:
            LakeError: It is no lake, or cannot be read.
        """
        super().__init__(store, file, writer=writer)
        lake.check()
        self._lake, self._state = lake, read_state(lake)
        self._found = 0

    def note(self, connection: duckdb.DuckDBPyConnection, text: str) -> str:
        """What the answer to a statement may miss, and what of it was read from the lake."""
        missed = super().note(connection, text)
        if not (self._found and reads_events(text)):
            return missed
        read = f"raw events of {self._found:,} dumps were read from {self._lake.name}"
        return f"{read}; {missed}" if missed else read

    def _open(self, whose: Whose) -> duckdb.DuckDBPyConnection:
        connection = super()._open(whose)
        dropped = dict(connection.execute(_DROPPED).fetchall())
        if dropped:
            with self.explained():
                self._show(connection, dropped)
        return connection

    def explained(self) -> AbstractContextManager[None]:
        """Raise what the body does, or tell of a file of the lake that is gone or cut."""
        return damage_told(self._lake, self._state)

    def _show(self, connection: duckdb.DuckDBPyConnection, dropped: dict[str, int]) -> None:
        """Let `events` and `dropped_events` be what they are with the events of the lake."""
        held = [dump for dump in find_dumps(self._lake, self._state) if dump.sha256 in dropped]
        files = files_of_parts(self._state, {dump.part for dump in held})
        lacking = read_numbers(self._lake, files["dropped_events"])
        found = [dump for dump in held if dump.dump_id not in lacking]
        self._found = len(found)
        if not found:
            return
        ids = {dump.sha256: dump.dump_id for dump in found}
        rows = {"dump_id": [dropped[one] for one in ids], "shared_id": list(ids.values())}
        connection.register("events_in_lake", pa.table(rows, schema=_FOUND))
        source = register_files(connection, self._lake, "events", files["events"])
        rest = ", ".join(TABLES["events"].names[1:])
        connection.execute(_ALL.format(rest, source))
        connection.execute(_MISSED)
