"""Rows that take dumps of known and of unknown clock rates together: one rule for all queries."""

import pytest

from tests.support.store_rows import Event, StoreRows, run_query

RUN = [Event("native_call_add.out", 60, 0), Event("Method::execute", 100, chain=-1)]
TIMES = {
    "token_latency": "p50_ns", "operator_variance": "p50_ns", "delegation_coverage": "run_ns",
    "operator_hotspots": "self_ns", "framework_tax": "tax_ns",
}  # fmt: skip


def _store(*rates):
    store = StoreRows()
    for number, rate in enumerate(rates):
        dump = store.add_dump(device=f"d{number}", pool="lab", ns_per_tick=rate)
        for _ in range(5):
            store.add_run(dump, RUN)
    return store.connect()


@pytest.mark.parametrize("name", TIMES)
def test_times_of_a_row_are_null_if_any_of_its_clocks_has_an_unknown_rate(name):
    mixed = run_query(_store(1.0, None), name, group_by="pool")
    assert {row[TIMES[name]] for row in mixed} == {None}
    known = run_query(_store(1.0, 1.0), name, group_by="pool")
    assert None not in {row[TIMES[name]] for row in known}


@pytest.mark.parametrize("name", TIMES)
def test_a_column_counts_the_dumps_that_have_no_times(name):
    mixed = run_query(_store(1.0, None, None), name, group_by="pool")
    assert {row["untimed_count"] for row in mixed} == {2}
    assert {row["untimed_count"] for row in run_query(_store(1.0), name)} == {0}
