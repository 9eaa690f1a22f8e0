"""Stores that were filled before producers had rules are as if they were filled now."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from tests.support.producer_dumps import PRODUCERS, producer_dump
from tests.support.stores import contents, ingest, write
from tests.warehouse.engine.test_migrations import write_old
from warehouse import Warehouse
from warehouse.engine.store_file import FILE_NAME
from warehouse.storage.rebuild import rebuild_store

AS_IT_WAS = """
UPDATE event_signatures SET kind = CASE
    WHEN delegate_id_str IS NOT NULL AND kind <> 'delegate_phase' OR delegate_id_str LIKE '% (us)'
        THEN 'delegate_op'
    WHEN name LIKE '%EthosU%' THEN 'other'
    ELSE kind
END;
DELETE FROM counters WHERE name <> 'energy';
UPDATE dumps SET delegate_resolution_ticks = 1 WHERE source LIKE '%QNN%'
"""


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a dump of each producer."""
    folder = tmp_path_factory.mktemp("new")
    for producer in PRODUCERS:
        manifest = {"device": "d", "build": "b", "model": producer, "clock": "ns"}
        manifest |= {"counters": [{"name": "energy", "unit": "mJ", "value": 3.0}]}
        file = write(folder / "in" / f"{producer}.etdp", producer_dump(producer))
        ingest(folder / "store", file, manifest=manifest)
    return folder / "store"


@pytest.mark.parametrize("schema", [6, 7, 9])
def test_events_counters_and_statistics_are_those_of_ingest(
    new: Path, tmp_path: Path, schema: int
) -> None:
    old = write_old(tmp_path / "old", new, schema)
    with duckdb.connect(str(old / FILE_NAME)) as connection:
        connection.execute(AS_IT_WAS if schema > 6 else AS_IT_WAS.replace("DELETE FROM", "--"))
    Warehouse.open(old, create=True).close()
    found, expected = contents(old), contents(new)
    wanted = ["event_signatures", "dumps", "event_stats", "event_totals", "events"]
    for table in wanted if schema == 6 else [*wanted, "counters"]:
        assert found[table] == expected[table], table


@pytest.mark.slow
def test_a_rebuilt_store_has_the_same(new: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(new, tmp_path / "store"))
    rebuild_store(store)
    assert contents(store) == contents(new)
