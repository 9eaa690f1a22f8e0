"""What is in a store, a snapshot and a lake, in the form in which a model has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from tests.support.store_model import Model
from warehouse import Warehouse
from warehouse.archive.archive import Archive
from warehouse.archive.entries import DUMP
from warehouse.archive.verification import indexed_segments, verify_archive
from warehouse.lake.commits import read_state
from warehouse.lake.place import Lake
from warehouse.lake.verification import verify_lake
from warehouse.opening.read import open_snapshot

View = dict[str, Any]

_DUMPS = """
SELECT d.sha256, d.source, d.manifest, v.name, v.pool, b.name, m.name, m.backend, b.ordinal,
    r.sha256, d.debug_buffer_sha256, d.n_events, coalesce(e.n, 0), o.dump_id IS NOT NULL,
    CAST(s.ticks AS BIGINT)
FROM dumps AS d
JOIN devices AS v ON v.device_id = d.device_id
JOIN builds AS b ON b.build_id = d.build_id
JOIN models AS m ON m.model_id = d.model_id
LEFT JOIN etrecords AS r ON r.etrecord_id = d.etrecord_id
LEFT JOIN (SELECT dump_id, count(*) AS n FROM events GROUP BY dump_id) AS e
    ON e.dump_id = d.dump_id
LEFT JOIN dropped_events AS o ON o.dump_id = d.dump_id
LEFT JOIN (SELECT dump_id, sum(sum_ticks) AS ticks FROM event_stats GROUP BY dump_id) AS s
    ON s.dump_id = d.dump_id
"""
_TABLES = {
    "dumps": _DUMPS,
    "errors": "SELECT source, sha256, reason, detail, manifest FROM ingest_errors",
    "decisions": "SELECT group_id, state, reason, build, device, pool FROM group_decisions",
    "forgotten": "SELECT sha256 FROM forgotten_dumps",
    "nights": "SELECT build, settings, verdict FROM judged_nights",
}
FACTS = "SELECT sha256, dump_id, epoch_us(ingested_at) FROM dumps"
UNUSED = """
SELECT name FROM devices WHERE device_id NOT IN (SELECT device_id FROM dumps)
UNION ALL SELECT name FROM builds WHERE build_id NOT IN (SELECT build_id FROM dumps)
UNION ALL SELECT name FROM models WHERE model_id NOT IN (SELECT model_id FROM dumps)
"""


def observe(connection: duckdb.DuckDBPyConnection) -> View:
    """What a store has, in the form of `Model.view`."""
    found: View = {
        name: sorted(connection.execute(text).fetchall(), key=repr)
        for name, text in _TABLES.items()
    }
    return {**found, "forgotten": [hash_ for (hash_,) in found["forgotten"]]}


def observe_snapshot(store: Path) -> View | None:
    """What the newest snapshot of a store has, if there is one."""
    opened = open_snapshot(store)
    if opened is None:
        return None
    try:
        return observe(opened.answering.connection("trusted", "SELECT"))
    finally:
        opened.release()


def observe_lake(lake: Path) -> list[tuple[Any, ...]]:
    """The dumps that a whole lake has."""
    if not Lake(lake).exists() or not read_state(Lake(lake)).commits:
        return []
    assert not [one for one in verify_lake(Lake(lake)) if one.problem]
    with Warehouse.open_lake(lake) as opened:
        columns = opened.sql(_DUMPS).columns
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=repr)


def observe_archive(store: Path) -> dict[str, bytes]:
    """The dumps in a whole archive, by SHA-256; each is there once."""
    checked = verify_archive(Archive(store), indexed_segments(store))
    assert not [one for one in checked if one.problem]
    dumps = [entry for _, entry in Archive(store).entries() if entry.kind == DUMP]
    found = {str(entry.sha256): bytes(entry.data) for entry in dumps}
    assert len(found) == len(dumps)
    return found


def rows_of(lake: dict[str, dict[str, Any]] | None) -> list[tuple[Any, ...]]:
    """The rows of the dumps in a lake of a model."""
    rows: list[tuple[Any, ...]] = Model(dumps=lake or {}).view()["dumps"]
    return rows


def check(found: View, wanted: View) -> None:
    """Compare what was found with what the model has."""
    for name, rows in wanted.items():
        lacking = [row for row in rows if row not in found[name]]
        strange = [row for row in found[name] if row not in rows]
        assert found[name] == rows, f"{name}: lacks {lacking}, has {strange}"
