"""Dumps whose rows in a lake are others than those of a store."""

from __future__ import annotations

import duckdb

from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS, dump_checksums
from tracehouse.warehouse.lake.commits import read_filled_state
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.damage import lake_errors
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.writing import read_dumps

# In a lake, the ids in `dumps` are others, and dumps keep their events.
_OTHERS = {"dumps", "event_histograms", "dropped_events"}
_SAME = [name for name in TABLES_OF_DUMPS if name not in _OTHERS]
_DROPPED = "SELECT dump_id FROM dropped_events"


def find_wrong_dumps(connection: duckdb.DuckDBPyConnection, lake: Lake) -> list[tuple[str, str]]:
    """SHA-256 of the dumps with wrong rows in a lake, each with the tables of these rows.

    Dumps that the store lacks, or that changed since they were exported, are left out.

    Raises:
        LakeError: The lake does not exist, or cannot be read.
    """
    state = read_filled_state(lake)
    own = {dump.sha256: dump for dump in read_dumps(connection)}
    dropped = {row[0] for row in connection.execute(_DROPPED).fetchall()}
    wrong: dict[str, list[str]] = {}
    with lake_errors(lake, state), reading_lake(lake, state) as shared:
        both = {
            dump.dump_id: own[dump.sha256]
            for dump in read_dumps(shared)
            if dump.sha256 in own and dump.state == own[dump.sha256].state
        }
        for table in _SAME:
            stored, found = (dump_checksums(one, table) for one in (connection, shared))
            for id_, dump in both.items():
                is_gone = table == "events" and dump.dump_id in dropped
                if not is_gone and stored.get(dump.dump_id) != found.get(id_):
                    wrong.setdefault(dump.sha256, []).append(table)
    return [(sha256, ", ".join(sorted(tables))) for sha256, tables in wrong.items()]
