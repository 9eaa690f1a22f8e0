from itertools import product

import numpy as np
import pytest

from tests.support.cross_section import cross_section
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
        "run": "Execute (incomplete)",
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
        "missing_count": 0,
        "error_share": 0,
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


TICKS = [0, 0, 1, 2, 3, 150, 151, *range(900, 10_000, 41), 2**40, 2**62]


def _forget_events(connection):
    connection.execute("DELETE FROM events")


@pytest.mark.parametrize(
    ("count", "are_events_gone"),
    cross_section(product([1, 2, 99, 100, 199, 200, 237], [False, True]), 5),
)
def test_approximate_percentiles_are_within_their_bound(count, are_events_gone):
    """Of 200 runs or more from a histogram, of fewer from the events."""
    ticks = np.random.default_rng(count).choice(TICKS, count).tolist()
    connection = _store(({}, ticks))
    if are_events_gone and count >= 200:
        _forget_events(connection)
    (row,) = run_query(connection, "percentiles", approx=True)
    (exact,) = run_query(_store(({}, ticks)), "percentiles")
    for name, share in SHARES.items():
        expected = np.percentile(np.array(ticks, np.float64), share)
        assert row[name] == pytest.approx(expected, rel=row["error_share"] * (1 + 1e-9), abs=0)
        assert row[name] == pytest.approx(exact[name], rel=0.01 * (1 + 1e-9), abs=0)
    assert row["error_share"] == 0.01
    assert row["missing_count"] == 0
    for name in ("sample_count", "avg_ns", "min_ns", "max_ns"):
        assert row[name] == exact[name]


def test_histograms_and_events_of_dumps_with_different_clocks_are_pooled():
    long, short = [1000 + run for run in range(240)], [3, 4, 5]
    connection = _store(({}, long), ({"ns_per_tick": 1000.0}, short))
    (row,) = run_query(connection, "percentiles", approx=True)
    pooled = [*long, *(1000 * ticks for ticks in short)]
    for name, share in SHARES.items():
        assert row[name] == pytest.approx(np.percentile(pooled, share), rel=0.01)
    assert row["sample_count"] == 243


def test_approximate_percentiles_of_runs_in_two_phases_lie_between_them():
    connection = _store(({}, [31_000] * 100 + [869_000] * 100))
    (row,) = run_query(connection, "percentiles", approx=True)
    assert row["p50_ns"] == pytest.approx(450_000, rel=0.01)


def test_approximate_percentiles_leave_out_what_exact_ones_do():
    connection = _store(({}, [100, (-5, 2)]), ({"ns_per_tick": None}, [7] * 200))
    (row,) = run_query(connection, "percentiles", approx=True)
    assert (row["sample_count"], row["missing_count"]) == (1, 0)
    assert row["p50_ns"] == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize(("is_approx", "missing"), [(False, 203), (True, 3)])
def test_events_that_are_gone_are_said_to_be_missing(is_approx, missing):
    connection = _store(({}, [10] * 200), ({}, [30] * 3))
    _forget_events(connection)
    (row,) = run_query(connection, "percentiles", approx=is_approx)
    assert (row["sample_count"], row["missing_count"]) == (203, missing)
    assert (row["min_ns"], row["max_ns"]) == (10, 30)
    assert row["p99_ns"] == (pytest.approx(10, rel=0.01) if is_approx else None)


def test_percentiles_count_the_events_that_are_left():
    connection = _store(({}, [10] * 4), ({}, [30] * 3))
    connection.execute("DELETE FROM events WHERE dump_id = 1")
    (row,) = run_query(connection, "percentiles")
    assert (row["p10_ns"], row["missing_count"]) == (30, 4)
