from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.planted import full_store
from tracehouse import Warehouse
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps

_POOLS = {"phone1": "lab's", "phone2": "field"}
# Rows of these do not belong to a dump, or to several.
_SHARED = ("run_signatures", "event_signatures", "tensors")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with rows in every table, whose devices are in two pools but for one."""
    store = Path(shutil.copytree(full_store(), tmp_path_factory.mktemp("full") / "s"))
    with Warehouse.open_to_write(store) as warehouse:
        for device, pool in _POOLS.items():
            chosen = choose_dumps(warehouse.writing, where={"device": device})
            corrected = parse_corrections([f"device.pool={pool}"])
            amend_manifests(
                warehouse.writing, store, plan_amendments(warehouse.writing, chosen, corrected)
            )
    return store


def counts(store: Path, *pools: str) -> Mapping[str, int]:
    """The rows of each table that a reader of pools sees; of one without a limit, if none."""
    with Warehouse.open(store, read_only=True) as reader:
        if pools:
            reader.limit_to(pools)
        columns = ", ".join(
            f"(SELECT count(*) FROM {table}) AS {table}"  # noqa: S608
            for table in STORED
        )
        (found,) = reader.sql(f"SELECT {columns}").to_pylist()
        return dict(found)


def count_joined(store: Path, table: str, pool: str) -> int:
    """The rows of a table that are of the dumps of a pool."""
    text = f"FROM {table} JOIN named_dumps AS d USING (dump_id) WHERE d.pool = $pool"
    with Warehouse.open(store, read_only=True) as reader:
        return reader.sql(text, {"pool": pool}).num_rows


def test_a_reader_of_pools_sees_the_rows_of_their_dumps_alone(full: Path) -> None:
    everything, lab, field = counts(full), counts(full, "lab's"), counts(full, "field")
    both = counts(full, "field", "lab's", "none yet")
    assert lab["dumps"]
    assert field["dumps"]
    for table, schema in STORED.items():
        if "dump_id" in schema.names:
            assert lab[table] == count_joined(full, table, "lab's"), table
            assert lab[table] + field[table] == both[table] <= everything[table], table
        elif table in _SHARED:
            assert max(lab[table], field[table]) <= both[table] <= everything[table], table
    assert (both["devices"], lab["devices"]) == (2, 1)
    assert lab["builds"] < everything["builds"]


def test_dumps_without_a_pool_are_hidden_from_a_reader_of_pools(full: Path) -> None:
    everything, none = counts(full), counts(full, "none yet")
    assert all(everything.values())
    assert {table for table, count in none.items() if count} == {"archive_segments"}
