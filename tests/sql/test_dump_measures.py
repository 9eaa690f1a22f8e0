"""The measures of whole dumps in the view `dump_measures`."""

import pytest

from tests.support.store_rows import Event, StoreRows

LOAD = [
    Event("Method::init", 90, chain=-1, instruction=None),
    Event("Program::load_method", 100, chain=-1, instruction=None),
]


def _executed(ticks, instruction=0):
    return [Event("Method::execute", ticks, instruction, chain=-1)]


@pytest.fixture(scope="module")
def measures():
    """By dump and name of the measure: its kind, unit and value."""
    store = StoreRows()
    turn = [_executed(500), *(_executed(ticks, 9) for ticks in (10, 20, 40))]
    store.add_runs(store.add_dump(), [LOAD, *turn, *turn])
    for _ in range(2):
        store.add_runs(store.add_dump(), [_executed(500)] * 3)
    store.add_counter(3, "cycles", [90, 10, 20])
    store.add_counter(3, "throughput", 300, unit="images/s")
    store.add_counter(3, "spills", 0)
    rows = store.connect().sql("SELECT dump_id, name, kind, unit, value FROM dump_measures")
    found = {1: {}, 2: {}, 3: {}}
    for dump, name, *figures in rows.fetchall():
        found[dump][name] = tuple(figures)
    return found


def test_measures_of_a_language_model_match_a_calculation_by_hand(measures):
    assert measures[1] == {
        "load_time": ("load_time", "ns", 100),
        "cold_start": ("cold_start", "ns", 600),
        "first_token": ("first_token", "ns", 500),
        "tokens_per_second": ("token_rate", "/s", pytest.approx(1e9 / 20)),
    }


def test_a_model_that_does_one_thing_writes_no_tokens(measures):
    assert measures[2] == {}


def test_counters_are_of_whole_dumps_or_the_median_of_runs(measures):
    assert measures[3] == {
        "cycles": ("counter", "mJ", 20),
        "throughput": ("rate", "images/s", 300),
    }
