"""Counters that manifests of dumps state, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from ingest.manifest.models import Manifest
from ingest.schemas.dumps import COUNTERS
from warehouse.loading.appending import append_rows

_GONE = "DELETE FROM counters WHERE dump_id IN (SELECT unnest(?))"


def insert_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Insert what the manifests of new dumps, by id, state."""
    rows = [row for id_, manifest in manifests.items() for row in _rows(id_, manifest)]
    append_rows(connection, "counters", pa.Table.from_pylist(rows, COUNTERS))


def replace_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Let the counters of dumps be those that their manifests state now."""
    connection.execute(_GONE, [list(manifests)])
    insert_counters(connection, manifests)


def _rows(dump_id: int, manifest: Manifest) -> Iterator[dict[str, Any]]:
    for counter in manifest.counters or ():
        facts = {"dump_id": dump_id, "name": counter.name, "unit": counter.unit}
        if counter.value is not None:
            yield {**facts, "run_index": None, "value": counter.value}
        for run_index, value in enumerate(counter.values or ()):
            if value is not None:
                yield {**facts, "run_index": run_index, "value": value}
