import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _farm(**clock):
    store = StoreRows()
    number = store.add_dump(**clock)
    for ticks in (300, 100, 200, 400):
        events = [
            Event("Method::execute", ticks, 0),
            Event("native_call_conv.out", 40, 1, start=50),
            Event("", 30, 2, "GEMM", start=5),
        ]
        store.add_run(number, events)
    other = store.add_dump(build="b2")
    store.add_run(other, [Event("Method::execute", 7, 0)], name="Load")
    return store.connect()


def _rows(connection, **params):
    return run_query(connection, "run_timeline", **params)


def test_run_of_median_length_is_taken_without_any():
    rows = _rows(_farm(), dump=1)
    assert {(row["run_index"], row["run_name"]) for row in rows} == {(2, "Execute")}
    assert [row["duration_ns"] for row in rows if row["kind"] == "method"] == [200]


@pytest.mark.parametrize(("run", "expected"), [(0, [300]), (3, [400]), (4, [])])
def test_a_run_that_is_named_is_taken(run, expected):
    rows = _rows(_farm(), dump=1, run=run)
    assert [row["duration_ns"] for row in rows if row["kind"] == "method"] == expected


def test_other_dumps_have_runs_of_their_own():
    (row,) = _rows(_farm(), dump=2)
    assert (row["event_name"], row["duration_ns"], row["run_name"]) == (
        "Method::execute",
        7,
        "Load",
    )


def test_starts_are_in_nanoseconds_and_in_order():
    rows = _rows(_farm(ns_per_tick=10.0, delegate_ns_per_tick=10.0), dump=1, run=0)
    assert [row["start_ns"] for row in rows] == [0, 50, 500]


def test_events_of_another_clock_have_no_start():
    rows = _rows(_farm(ns_per_tick=1.0, delegate_ns_per_tick=1000.0), dump=1, run=0)
    starts = {row["event_name"]: row["start_ns"] for row in rows}
    assert starts["GEMM"] is None
    assert None not in (starts["Method::execute"], starts["native_call_conv.out"])


def test_cycles_of_unknown_rate_have_neither_start_nor_duration():
    rows = _rows(_farm(ns_per_tick=None, delegate_ns_per_tick=None), dump=1, run=0)
    assert {(row["start_ns"], row["duration_ns"]) for row in rows} == {(None, None)}


def test_huge_times_do_not_overflow():
    store = StoreRows()
    number = store.add_dump()
    store.add_run(number, [Event("Method::execute", 2**63 - 1, 0, start=2**62)])
    (row,) = _rows(store.connect(), dump=number)
    assert row["duration_ns"] == 2.0**63
