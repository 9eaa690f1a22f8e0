import numpy as np
import pytest

from tests.support.store_rows import Event, StoreRows, run_query

OP = "native_call_add.out"
SHARES = {"p10_ns": 10, "p50_ns": 50, "p90_ns": 90, "p95_ns": 95, "p99_ns": 99}


def _store(*dumps):
    """Each dump: what add_dump takes, and the ticks (and flags) of one operator, run by run."""
    store = StoreRows()
    for columns, ticks in dumps:
        dump = store.add_dump(**columns)
        for number in ticks:
            duration, flags = number if isinstance(number, tuple) else (number, 0)
            store.add_run(dump, [Event(OP, duration, 3, flags=flags)])
    return store.connect()


def test_four_samples_by_hand():
    (row,) = run_query(_store(({}, [40, 10, 30, 20])), "percentiles")
    assert row == {
        "device": "phone",
        "pool": None,
        "build": "b1",
        "model": "net",
        "backend": "xnnpack",
        "group": None,
        "event_name": OP,
        "instruction_id": 3,
        "delegate_id": None,
        "kind": "kernel",
        "sample_count": 4,
        "p10_ns": pytest.approx(13),
        "p50_ns": 25,
        "p90_ns": pytest.approx(37),
        "p95_ns": pytest.approx(38.5),
        "p99_ns": pytest.approx(39.7),
        "avg_ns": 25,
        "min_ns": 10,
        "max_ns": 40,
    }


def test_dumps_of_a_build_are_pooled_as_numpy_would():
    first, second = [7, 1, 9, 4, 4], [12, 3, 100]
    (row,) = run_query(_store(({}, first), ({}, second)), "percentiles")
    for name, share in SHARES.items():
        assert row[name] == pytest.approx(np.percentile(first + second, share), rel=1e-12)


def test_dumps_with_different_clocks_are_pooled_in_nanoseconds():
    rows = run_query(_store(({}, [1000, 3000]), ({"ns_per_tick": 1000.0}, [2])), "percentiles")
    assert [(row["sample_count"], row["p50_ns"], row["max_ns"]) for row in rows] == [
        (3, 2000, 3000)
    ]


def test_flagged_events_and_cycles_of_unknown_rate_do_not_count():
    corrected_wrap, negative = (50, 1), (-5, 2)
    connection = _store(({}, [corrected_wrap, negative]), ({"ns_per_tick": None}, [7]))
    (row,) = run_query(connection, "percentiles")
    assert (row["sample_count"], row["min_ns"], row["max_ns"]) == (1, 50, 50)


def test_delegate_events_use_the_delegate_s_clock():
    store = StoreRows()
    dump = store.add_dump(delegate_ns_per_tick=1000.0)
    store.add_run(dump, [Event("", 3, 0, "GEMM #1"), Event("DELEGATE_CALL", 5000, 0)])
    rows = run_query(store.connect(), "percentiles")
    assert {row["event_name"]: row["p50_ns"] for row in rows} == {
        "GEMM #1": 3000,
        "DELEGATE_CALL": 5000,
    }


def test_runs_with_and_without_logged_values_are_one_row():
    store = StoreRows()
    dump = store.add_dump()
    store.add_run(dump, [Event(OP, 10, 3)])
    store.add_run(dump, [Event(OP, 20, 3, debug_name="")])
    (row,) = run_query(store.connect(), "percentiles")
    assert (row["sample_count"], row["p50_ns"]) == (2, 15)
