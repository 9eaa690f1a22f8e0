"""Counters of dumps, as rows: those that manifests state, and those that delegates log as events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from ingest.manifest.models import Manifest
from ingest.schemas.dumps import COUNTERS
from warehouse.catalogue.sql_files import read_statement
from warehouse.loading.appending import append_rows

_STATED = "DELETE FROM counters WHERE event_signature_id IS NULL AND dump_id IN (SELECT unnest(?))"


def insert_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Insert what the manifests of new dumps, by id, state."""
    rows = [row for id_, manifest in manifests.items() for row in _rows(id_, manifest)]
    append_rows(connection, "counters", pa.Table.from_pylist(rows, COUNTERS))


def replace_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Let the counters of dumps that manifests state be those that they state now."""
    connection.execute(_STATED, [list(manifests)])
    insert_counters(connection, manifests)


def insert_logged_counters(
    connection: duckdb.DuckDBPyConnection, events: str = "events", signatures: str = "event_signatures"
) -> None:
    """Insert the counters that delegates logged, from tables or views of these names."""
    text = read_statement("logged_counters")
    text = text.replace("some_events", events).replace("some_signatures", signatures)
    connection.execute(f"INSERT INTO counters BY NAME {text}")  # noqa: S608 - our own names


def _rows(dump_id: int, manifest: Manifest) -> Iterator[dict[str, Any]]:
    for counter in manifest.counters or ():
        facts = {"dump_id": dump_id, "name": counter.name, "unit": counter.unit}
        if counter.value is not None:
            yield {**facts, "run_index": None, "value": counter.value}
        for run_index, value in enumerate(counter.values or ()):
            if value is not None:
                yield {**facts, "run_index": run_index, "value": value}
