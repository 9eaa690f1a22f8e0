"""Rows of counters, from manifests and from events that delegates log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.producers import COUNTER
from tracehouse.ingest.schemas.dumps import COUNTERS
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.load.appending import append_rows

_MANIFEST_ROWS = (
    "DELETE FROM counters WHERE event_signature_id IS NULL AND dump_id IN (SELECT unnest(?))"
)


def insert_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Insert the counters in manifests of new dumps, by id."""
    rows = [row for id_, manifest in manifests.items() for row in _rows(id_, manifest)]
    append_rows(connection, "counters", pa.Table.from_pylist(rows, COUNTERS))


def replace_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Replace the counters of stored dumps, by id, that come from their manifests."""
    connection.execute(_MANIFEST_ROWS, [list(manifests)])
    insert_counters(connection, manifests)


def insert_logged_counters(
    connection: duckdb.DuckDBPyConnection, events: pa.Table, signatures: pa.Table
) -> None:
    """Insert the counters that delegates logged as events; `events` have dump ids."""
    logged = pc.equal(signatures["kind"], COUNTER)
    if pc.any(logged).as_py():
        with (
            registered(connection, "new_events", events),
            registered(connection, "new_signatures", signatures.filter(logged)),
        ):
            found = connection.sql(read_statement("logged_counters")).to_arrow_table()
            append_rows(connection, "counters", found)


def _rows(dump_id: int, manifest: Manifest) -> Iterator[dict[str, Any]]:
    for counter in manifest.counters or ():
        facts = {"dump_id": dump_id, **counter.model_dump(include={"name", "unit", "source"})}
        if counter.value is not None:
            yield {**facts, "run_index": None, "value": counter.value}
        for run_index, value in enumerate(counter.values or ()):
            if value is not None:
                yield {**facts, "run_index": run_index, "value": value}
