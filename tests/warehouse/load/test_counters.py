from __future__ import annotations

import duckdb
import numpy as np

from tests.support.producer_dumps import producer_dump
from tests.support.stores import COUNTERS, MANIFEST
from tracehouse import decode_dumps
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.load.content import number_dumps
from tracehouse.warehouse.load.dump_rows import (
    insert_counters,
    insert_logged_counters,
    replace_counters,
)

PLAIN = Manifest.model_validate(MANIFEST)
COUNTED = Manifest.model_validate({**MANIFEST, "counters": COUNTERS})


def rows(connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return connection.execute("FROM counters ORDER BY ALL NULLS FIRST").fetchall()


def test_each_known_value_is_a_row_with_its_run_or_without_one(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    insert_counters(connection, {7: COUNTED, 8: PLAIN})
    assert rows(connection) == [
        (7, None, "energy", "mJ", 812.5, None, None, None),
        (7, 1, "cycles", "count", 5000.0, None, None, None),
        (7, 2, "cycles", "count", 7.0, None, None, None),
    ]


def test_only_dumps_whose_manifests_change_lose_their_counters(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    insert_counters(connection, {7: COUNTED, 8: COUNTED})
    before = rows(connection)
    replace_counters(connection, {7: PLAIN})
    assert rows(connection) == [row for row in before if row[0] == 8]
    replace_counters(connection, {7: COUNTED})
    assert rows(connection) == before


def test_counters_that_a_delegate_logged_survive_a_manifest_change(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    batch = decode_dumps([producer_dump("QNN", 2)])
    events = number_dumps([batch.tables], [np.array([7], np.int32)])["events"]
    insert_logged_counters(connection, events, batch.tables["event_signatures"])
    before = rows(connection)
    assert len(before) == 12
    assert (7, 1, "Number of HVX threads used", "count", 4.0, 1) in {
        (*row[:5], row[7]) for row in before
    }
    insert_counters(connection, {7: COUNTED})
    replace_counters(connection, {7: PLAIN})
    assert rows(connection) == before
