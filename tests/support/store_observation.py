"""What is in a store, a snapshot and a lake, in the form in which a model has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb

from tests.support.store_model import Model
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DUMP
from tracehouse.warehouse.archive.verification import indexed_segments, verify_archive
from tracehouse.warehouse.lake.commits import read_state
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake
from tracehouse.warehouse.opening.doors import open_snapshot

View = dict[str, Any]
Rows = list[tuple[Any, ...]]

# What is read of each table, and from where: without joins, which DuckDB takes longer to plan than
# such a store to read.
_TABLES = {
    "dumps": (
        "sha256, source, manifest, device_id, build_id, model_id, etrecord_id, "
        "debug_buffer_sha256, n_events, dump_id",
        "dumps",
    ),
    "devices": ("device_id, name, pool", "devices"),
    "builds": ("build_id, name, ordinal", "builds"),
    "models": ("model_id, name, backend", "models"),
    "etrecords": ("etrecord_id, sha256", "etrecords"),
    "events": ("dump_id, count(*)", "events GROUP BY dump_id"),
    "dropped": ("dump_id", "dropped_events"),
    "ticks": ("dump_id, CAST(sum(sum_ticks) AS BIGINT)", "event_stats GROUP BY dump_id"),
}
_RECORDS = {
    "errors": ("source, sha256, reason, detail, manifest", "ingest_errors"),
    "decisions": ("group_id, state, reason, build, device, pool", "group_decisions"),
    "forgotten": ("sha256", "forgotten_dumps"),
    "nights": ("build, settings, verdict", "judged_nights"),
}
FACTS = "SELECT sha256, dump_id, epoch_us(ingested_at) FROM dumps"


def observe(connection: duckdb.DuckDBPyConnection) -> View:
    """What a store has, in the form of `Model.view`; each device, build and model has a dump."""
    tables = _read(lambda text: connection.execute(text).fetchall(), _TABLES | _RECORDS)
    found: View = {name: sorted(tables[name], key=repr) for name in _RECORDS}
    forgotten = [hash_ for (hash_,) in found["forgotten"]]
    return {"dumps": _join_dumps(tables), **found, "forgotten": forgotten}


def _read(read: Callable[[str], Rows], parts: Mapping[str, tuple[str, str]]) -> dict[str, Rows]:
    """Rows of all these tables, by one statement: each takes DuckDB as long as reading them all."""
    text = " UNION ALL ".join(
        f"SELECT '{name}' AS part, json_array({columns}) AS cells FROM {source}"  # noqa: S608
        for name, (columns, source) in parts.items()
    )
    tables: dict[str, Rows] = {name: [] for name in parts}
    for name, cells in read(text):
        tables[name].append(tuple(json.loads(cells)))
    return tables


def _join_dumps(tables: Mapping[str, Rows]) -> Rows:
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
            columns = (column.to_pylist() for column in opened.sql(text).table.columns)
            return list(zip(*columns, strict=True))

        return _join_dumps(_read(read, _TABLES))


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
