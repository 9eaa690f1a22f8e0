"""Dumps whose rows in a lake disagree with the digests that a store keeps."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.dumps import DIGESTED
from tracehouse.warehouse.engine.stored_digests import changed_tables, read_digests
from tracehouse.warehouse.lake.commits import read_filled_state
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.damage import lake_errors
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.writing import read_dumps

# In a lake, the ids in `dumps` are others, and dumps keep their events.
_SAME = tuple(n for n in DIGESTED if n not in ("dumps", "event_histograms", "dropped_events"))
_DIGESTS = "SELECT * EXCLUDE (damaged) FROM dump_digests"


def find_wrong_dumps(connection: duckdb.DuckDBPyConnection, lake: Lake) -> list[tuple[str, str]]:
    """SHA-256 of the dumps with wrong rows in a lake, each with the tables of these rows.

    Dumps that the store lacks, or that changed since they were exported, are left out.

    Raises:
        LakeError: The lake does not exist, or cannot be read.
    """
    state = read_filled_state(lake)
    own = {dump.sha256: dump for dump in read_dumps(connection)}
    with lake_errors(lake, state), reading_lake(lake, state) as shared:
        dumps = {
            dump.dump_id: own[dump.sha256]
            for dump in read_dumps(shared)
            if dump.sha256 in own and dump.state == own[dump.sha256].state
        }
        found = read_digests(shared, None, _SAME)
    is_known = [id_ in dumps for id_ in found["dump_id"].to_pylist()]
    known = found.filter(pa.array(is_known, pa.bool_()))
    ids = [dumps[id_].dump_id for id_ in known["dump_id"].to_pylist()]
    stored = connection.sql(_DIGESTS).to_arrow_table()
    dropped = set(stored.filter(stored["dropped_events"].is_valid())["dump_id"].to_pylist())
    changed = changed_tables(stored, known.set_column(0, "dump_id", pa.array(ids, pa.int64())))
    hashes = {dump.dump_id: dump.sha256 for dump in dumps.values()}
    wrong = []
    for id_, sha256 in hashes.items():
        tables = set(changed.get(id_, "").split(", ")) & set(_SAME)
        if tables := tables - {"events"} if id_ in dropped else tables:
            wrong.append((sha256, ", ".join(sorted(tables))))
    return wrong
