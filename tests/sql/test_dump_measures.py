"""The measures of whole dumps in the view `dump_measures`."""

import pytest

from tests.support.store_rows import Event, StoreRows

LOAD = [
    Event("Method::init", 90, chain=-1, instruction=None),
    Event("Program::load_method", 100, chain=-1, instruction=None),
]


def _execute(ticks, instruction):
    return [Event("Method::execute", ticks, instruction, chain=-1)]


def _measures(store):
    rows = store.connect().sql("SELECT kind, name, unit, value FROM dump_measures").fetchall()
    return {name: (kind, unit, value) for kind, name, unit, value in rows}


def test_a_language_model_by_hand():
    store = StoreRows()
    dump = store.add_dump()
    store.add_run(dump, LOAD)
    for _ in range(2):
        store.add_run(dump, _execute(500, 0))
        for ticks in (10, 20, 40):
            store.add_run(dump, _execute(ticks, 9))
    measures = _measures(store)
    assert measures["load_time"] == ("load_time", "ns", 100)
    assert measures["cold_start"] == ("cold_start", "ns", 600)
    assert measures["first_token"] == ("first_token", "ns", 500)
    kind, unit, rate = measures["tokens_per_second"]
    assert (kind, unit, rate) == ("token_rate", "/s", pytest.approx(1e9 / 20))


def test_a_model_that_does_one_thing_writes_no_tokens():
    store = StoreRows()
    dump = store.add_dump()
    for _ in range(3):
        store.add_run(dump, _execute(500, 0))
    assert _measures(store) == {}


def test_counters_are_of_whole_dumps_or_the_median_of_runs():
    store = StoreRows()
    dump = store.add_dump()
    for _ in range(3):
        store.add_run(dump, _execute(500, 0))
    store.add_counter(dump, "cycles", [90, 10, 20])
    store.add_counter(dump, "throughput", 300, unit="images/s")
    store.add_counter(dump, "spills", 0)
    assert _measures(store) == {
        "cycles": ("counter", "mJ", 20),
        "throughput": ("rate", "images/s", 300),
    }
