import pytest

from tests.support.store_rows import Event, StoreRows, run_query
from warehouse.errors import ParameterError

ADD = "native_call_add.out"


def _ask(*runs, **dump):
    """Runs are lists of events, or (events, what add_run takes)."""
    store = StoreRows()
    number = store.add_dump(**dump)
    for run in runs:
        events, columns = run if isinstance(run, tuple) else (run, {})
        store.add_run(number, events, **columns)
    return run_query(store.connect(), "event_blocks", dump=number)


def test_two_runs_by_hand():
    rows = _ask([Event(ADD, 10, 1)], [Event(ADD, 30, 1)])
    assert rows == [
        {
            "block_index": 0,
            "block_name": "Execute",
            "bundled_input_index": -1,
            "event_index": 0,
            "event_name": ADD,
            "instruction_id": 1,
            "delegate_id": None,
            "is_delegated_op": False,
            "sample_count": 2,
            "p10_ns": pytest.approx(12),
            "p50_ns": 20,
            "p90_ns": pytest.approx(28),
            "avg_ns": 20,
            "min_ns": 10,
            "max_ns": 30,
        }
    ]


def test_blocks_come_in_order_of_their_first_runs_and_events_in_file_order():
    load = ([Event("Method::init", 5, 0)], {"name": "Default"})
    run = [Event(ADD, 1, 2), Event("OPERATOR_CALL", 2, 2), Event(ADD, 3, 1)]
    bundled = (run, {"bundled_input_index": 4})
    rows = _ask(run, load, bundled, run)
    assert [(r["block_index"], r["block_name"], r["bundled_input_index"]) for r in rows] == [
        *[(0, "Execute", -1)] * 3,
        (1, "Default", -1),
        *[(2, "Execute", 4)] * 3,
    ]
    assert [(r["event_index"], r["event_name"], r["instruction_id"]) for r in rows[:3]] == [
        (0, ADD, 2),
        (1, "OPERATOR_CALL", 2),
        (2, ADD, 1),
    ]
    assert [r["sample_count"] for r in rows] == [2, 2, 2, 1, 1, 1, 1]


def test_events_are_named_as_the_inspector_names_them():
    rows = _ask(
        [
            Event("named", 1, 0, "GEMM #1"),
            Event(ADD, 1, 1, debug_name=""),
            Event(ADD, 1, 2, debug_name="logged"),
            Event("", None, 3, debug_name=""),
        ]
    )
    assert [(r["event_name"], r["delegate_id"], r["is_delegated_op"]) for r in rows] == [
        ("GEMM #1", "GEMM #1", True),
        (ADD, None, False),
        ("logged", None, False),
        ("", None, False),
    ]


def test_logged_values_without_timing_have_no_samples():
    (row,) = _ask([Event("", None, 3, debug_name="")])
    assert (row["sample_count"], row["p50_ns"], row["avg_ns"]) == (0, None, None)


def test_repeats_within_a_run_are_all_samples():
    (row,) = _ask([Event(ADD, 10, 1), Event(ADD, 20, 1), Event(ADD, 60, 1)])
    assert (row["sample_count"], row["p50_ns"], row["avg_ns"]) == (3, 20, 30)


def test_flagged_events_keep_their_row_without_samples():
    (row,) = _ask([Event(ADD, -5, 1, flags=2)])
    assert (row["sample_count"], row["min_ns"]) == (0, None)


def test_blocks_of_other_dumps_are_not_shown():
    store = StoreRows()
    for name in ("native_call_mul.out", ADD, "native_call_sub.out"):
        store.add_run(store.add_dump(), [Event(name, 10, 1)])
    (row,) = run_query(store.connect(), "event_blocks", dump=2)
    assert (row["block_index"], row["event_name"]) == (0, ADD)


def test_only_the_asked_dump_is_shown():
    store = StoreRows()
    for ticks in (10, 20):
        store.add_run(store.add_dump(), [Event(ADD, ticks, 1)])
    connection = store.connect()
    (row,) = run_query(connection, "event_blocks", dump=2)
    assert row["p50_ns"] == 20
    with pytest.raises(ParameterError, match="'dump': 3 is not in the store; there are 1 to 2"):
        run_query(connection, "event_blocks", dump=3)
