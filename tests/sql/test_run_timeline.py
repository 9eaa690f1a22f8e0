import pytest

from tests.support.store_rows import Event, StoreRows, run_query, shown

RUN = [
    Event("native_call_conv.out", 40, 1, start=50),
    Event("", 30, 2, "GEMM", start=5),
]
# By number of the dump: its clocks.
CLOCKS = {
    1: {},
    2: {"ns_per_tick": 10.0, "delegate_ns_per_tick": 10.0},
    3: {"ns_per_tick": 1.0, "delegate_ns_per_tick": 1000.0},
    4: {"ns_per_tick": None, "delegate_ns_per_tick": None},
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for clocks in CLOCKS.values():
        method = [[Event("Method::execute", ticks, 0), *RUN] for ticks in (300, 100, 200, 400)]
        store.add_runs(store.add_dump(**clocks), method)
    load = [Event("Method::execute", 7, 0)]
    store.add_run(store.add_dump(build="b2"), load, name="Load")
    store.add_run(store.add_dump(), [Event("Method::execute", 2**63 - 1, 0, start=2**62)])
    late = [event._replace(start=event.start + 2**32) for event in RUN[:1]]
    method = Event("Method::execute", 90, 0, start=2**32)
    store.add_run(store.add_dump(), [method, *late])
    return store.connect()


def _methods(farm, **params):
    rows = run_query(farm, "run_timeline", **params)
    found = [row for row in rows if row["kind"] == "method"]
    return shown(found, "run_index", "run_name", "duration_ns")


def test_run_that_is_named_or_else_that_of_median_length_is_taken(farm):
    assert _methods(farm, dump=1) == [(2, "Execute", 200)]
    for run, expected in ((0, [(0, "Execute", 300)]), (3, [(3, "Execute", 400)]), (4, [])):
        assert _methods(farm, dump=1, run=run) == expected
    assert _methods(farm, dump=5) == [(0, "Load", 7)]
    # Huge times do not overflow.
    assert _methods(farm, dump=6) == [(0, "Execute", 2.0**63)]


def test_starts_are_in_nanoseconds_and_in_order_where_there_is_one_clock(farm):
    rows = run_query(farm, "run_timeline", dump=2, run=0)
    assert [row["start_ns"] for row in rows] == [0, 50, 500]
    rows = run_query(farm, "run_timeline", dump=3, run=0)
    starts = {row["event_name"]: row["start_ns"] for row in rows}
    assert starts == {"Method::execute": 0, "native_call_conv.out": 50, "GEMM": None}


def test_starts_are_from_the_first_one_where_the_run_has_another_origin(farm):
    assert shown(run_query(farm, "run_timeline", dump=7), "start_ns") == [(0,), (50,)]


def test_cycles_of_unknown_rate_have_neither_start_nor_duration(farm):
    rows = run_query(farm, "run_timeline", dump=4, run=0)
    assert shown(rows, "start_ns", "duration_ns") == [(None, None)] * 3
