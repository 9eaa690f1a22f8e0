from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.lakes import files_of
from tests.support.planted import full_store
from tracehouse import Warehouse
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import find_wrong_dumps
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Path]:
    """A store with everything, and its lake."""
    store, lake = Path(shutil.copytree(full_store(), tmp_path / "store")), tmp_path / "lake"
    with Warehouse.open(store, read_only=True) as warehouse:
        warehouse.export_lake(lake)
    return store, lake


def find(store: Path, lake: Path) -> list[tuple[str, str]]:
    with Warehouse.open(store) as warehouse:
        return find_wrong_dumps(warehouse.writing, Lake(lake))


def test_wrong_values_in_a_lake_are_found_and_dumps_that_changed_since_are_left_out(
    exported: tuple[Path, Path],
) -> None:
    store, lake = exported
    assert find(store, lake) == []
    for path in (lake / file.path for file in files_of(lake, "event_stats")):
        rows = pq.read_table(path, partitioning=None)
        wrong = pa.array([value + 1 for value in rows["max_ticks"].to_pylist()], pa.int64())
        place = rows.column_names.index("max_ticks")
        pq.write_table(rows.set_column(place, rows.schema.field(place), wrong), path)
    found = find(store, lake)
    assert {tables for _, tables in found} == {"event_stats"}
    with Warehouse.open(store) as warehouse:
        (dump,) = choose_dumps(warehouse.writing, prefix=found[0][0])
        planned = plan_amendments(warehouse.writing, [dump], parse_corrections(["build=other"]))
        amend_manifests(warehouse.writing, store, planned)
    assert find(store, lake) == found[1:]
