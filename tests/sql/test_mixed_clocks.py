"""Rows that take dumps of known and of unknown clock rates together: one rule for all queries."""

import pytest

from tests.support.questions import columns, takes
from tests.support.store_rows import Event, StoreRows, run_query
from tracehouse.warehouse.catalogue.queries import load_catalogue

RUN = [Event("native_call_add.out", 60, 0), Event("Method::execute", 100, chain=-1)]
# Queries whose rows take dumps together.
NAMES = [
    name
    for name in load_catalogue()
    if takes(name, "group_by") and "untimed_count" in columns(name)
]
# Clock rates of the devices of each pool.
POOLS = {"known": [1.0, 1.0], "mixed": [1.0, None, None]}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for pool, rates in POOLS.items():
        for number, rate in enumerate(rates):
            dump = store.add_dump(
                device=f"{pool} {number}",
                pool=pool,
                ns_per_tick=rate,
                tags={"decode_method": "Execute"},  # for token_latency
            )
            store.add_runs(dump, [RUN] * 5)
    return store.connect()


@pytest.mark.parametrize("name", NAMES)
def test_times_of_a_row_are_null_if_any_of_its_clocks_has_an_unknown_rate(name, farm):
    rows = run_query(farm, name, group_by="pool")
    known, mixed = ([row for row in rows if row["group"] == pool] for pool in POOLS)
    times = [c for c in known[0] if c.endswith("_ns") and None not in {row[c] for row in known}]
    assert times
    assert {row[column] for row in mixed for column in times} == {None}
    assert {row["untimed_count"] for row in known} == {0}
    assert {row["untimed_count"] for row in mixed} == {2}
