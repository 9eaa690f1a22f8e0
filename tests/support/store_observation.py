"""What is in a store, a snapshot and a lake, in the form in which a model has it."""

from __future__ import annotations

from collections.abc import Callable
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
Rows = list[tuple[Any, ...]]

# Without joins, which DuckDB takes longer to plan than such a store to read.
_TABLES = {
    "dumps": """SELECT sha256, source, manifest, device_id, build_id, model_id, etrecord_id,
        debug_buffer_sha256, n_events, dump_id FROM dumps""",
    "devices": "SELECT device_id, name, pool FROM devices",
    "builds": "SELECT build_id, name, ordinal FROM builds",
    "models": "SELECT model_id, name, backend FROM models",
    "etrecords": "SELECT etrecord_id, sha256 FROM etrecords",
    "events": "SELECT dump_id, count(*) FROM events GROUP BY dump_id",
    "dropped": "SELECT dump_id FROM dropped_events",
    "ticks": "SELECT dump_id, CAST(sum(sum_ticks) AS BIGINT) FROM event_stats GROUP BY dump_id",
}
_RECORDS = {
    "errors": "SELECT source, sha256, reason, detail, manifest FROM ingest_errors",
    "decisions": "SELECT group_id, state, reason, build, device, pool FROM group_decisions",
    "forgotten": "SELECT sha256 FROM forgotten_dumps",
    "nights": "SELECT build, settings, verdict FROM judged_nights",
}
FACTS = "SELECT sha256, dump_id, epoch_us(ingested_at) FROM dumps"


def observe(connection: duckdb.DuckDBPyConnection) -> View:
    """What a store has, in the form of `Model.view`; each device, build and model has a dump."""

    def read(text: str) -> Rows:
        return connection.execute(text).fetchall()

    found: View = {name: sorted(read(text), key=repr) for name, text in _RECORDS.items()}
    forgotten = [hash_ for (hash_,) in found["forgotten"]]
    return {"dumps": _observe_dumps(read), **found, "forgotten": forgotten}


def _observe_dumps(read: Callable[[str], Rows]) -> Rows:
    tables = {name: read(text) for name, text in _TABLES.items()}
    by_id = {name: {row[0]: row[1:] for row in rows} for name, rows in tables.items()}
    rows = []
    for sha256, source, manifest, *ids, buffer, n_events, dump in tables["dumps"]:
        device, build, model, etrecord = ids
        (build_name, ordinal), held = by_id["builds"][build], by_id["events"].get(dump, (0,))
        names = *by_id["devices"][device], build_name, *by_id["models"][model], ordinal
        program = by_id["etrecords"].get(etrecord, (None,))
        is_dropped, ticks = dump in by_id["dropped"], by_id["ticks"].get(dump, (None,))
        content = *program, buffer, n_events, *held, is_dropped, *ticks
        rows.append((sha256, source, manifest, *names, *content))
    for column, name in enumerate(("devices", "builds", "models"), start=3):
        assert by_id[name].keys() == {row[column] for row in tables["dumps"]}, name
    return sorted(rows, key=repr)


def observe_snapshot(store: Path) -> View | None:
    """What the newest snapshot of a store has, if there is one."""
    opened = open_snapshot(store)
    if opened is None:
        return None
    try:
        return observe(opened.answering.connection("trusted", "SELECT"))
    finally:
        opened.release()


def observe_lake(lake: Path) -> Rows:
    """The dumps that a whole lake has."""
    if not Lake(lake).exists() or not read_state(Lake(lake)).commits:
        return []
    assert not [one for one in verify_lake(Lake(lake)) if one.problem]
    with Warehouse.open_lake(lake) as opened:

        def read(text: str) -> Rows:
            columns = (column.to_pylist() for column in opened.sql(text).columns)
            return list(zip(*columns, strict=True))

        return _observe_dumps(read)


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
