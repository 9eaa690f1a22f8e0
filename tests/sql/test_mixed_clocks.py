"""Rows that take dumps of known and of unknown clock rates together: one rule for all queries."""

import pytest

from tests.support.questions import columns, takes
from tests.support.store_rows import Event, StoreRows, run_query
from warehouse.catalogue.queries import load_catalogue

RUN = [Event("native_call_add.out", 60, 0), Event("Method::execute", 100, chain=-1)]
# Queries whose rows take dumps together.
NAMES = [
    name
    for name in load_catalogue()
    if takes(name, "group_by") and "untimed_count" in columns(name)
]


def _store(*rates):
    store = StoreRows()
    for number, rate in enumerate(rates):
        dump = store.add_dump(device=f"d{number}", pool="lab", ns_per_tick=rate)
        for _ in range(5):
            store.add_run(dump, RUN)
    return store.connect()


@pytest.mark.parametrize("name", NAMES)
def test_times_of_a_row_are_null_if_any_of_its_clocks_has_an_unknown_rate(name):
    known = run_query(_store(1.0, 1.0), name, group_by="pool")
    times = [c for c in known[0] if c.endswith("_ns") and None not in {row[c] for row in known}]
    assert times
    mixed = run_query(_store(1.0, None), name, group_by="pool")
    assert {row[column] for row in mixed for column in times} == {None}


@pytest.mark.parametrize("name", NAMES)
def test_a_column_counts_the_dumps_that_have_no_times(name):
    mixed = run_query(_store(1.0, None, None), name, group_by="pool")
    assert {row["untimed_count"] for row in mixed} == {2}
    assert {row["untimed_count"] for row in run_query(_store(1.0), name)} == {0}
