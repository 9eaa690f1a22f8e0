import pytest

from tests.support.store_rows import Event, StoreRows, run_query, shown
from tracehouse.warehouse.errors import ParameterError

ADD, MUL = "native_call_add.out", "native_call_mul.out"
LOAD = ([Event("Method::init", 5, 0)], {"name": "Default"})
RUN = [Event(ADD, 1, 2), Event("OPERATOR_CALL", 2, 2), Event(ADD, 3, 1)]
# Runs of dumps: lists of events, or (events, what add_run takes).
TWO_RUNS = [[Event(ADD, 10, 1)], [Event(ADD, 30, 1)]]
BLOCKS = [RUN, LOAD, (RUN, {"bundled_input_index": 4}), RUN]
EVENTS = [
    [
        Event("named", 1, 0, "GEMM #1"),
        Event(ADD, 1, 1, debug_name=""),
        Event(ADD, 1, 2, debug_name="logged"),
        Event("", None, 3, debug_name=""),
        Event(MUL, 10, 4),
        Event(MUL, 20, 4),
        Event(MUL, 60, 4),
        Event(MUL, -5, 5, flags=2),
    ]
]


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for runs in (TWO_RUNS, BLOCKS, EVENTS):
        number = store.add_dump()
        for run in runs:
            events, columns = run if isinstance(run, tuple) else (run, {})
            store.add_run(number, events, **columns)
    return store.connect()


def test_two_runs_by_hand(farm):
    assert run_query(farm, "event_blocks", dump=1) == [
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
    with pytest.raises(ParameterError, match="'dump': 4 is not in the store; there are 1 to 3"):
        run_query(farm, "event_blocks", dump=4)


def test_blocks_come_in_order_of_their_first_runs_and_events_in_file_order(farm):
    rows = run_query(farm, "event_blocks", dump=2)
    assert shown(rows, "block_index", "block_name", "bundled_input_index", "sample_count") == [
        *[(0, "Execute", -1, 2)] * 3,
        (1, "Default", -1, 1),
        *[(2, "Execute", 4, 1)] * 3,
    ]
    assert shown(rows[:3], "event_index", "event_name", "instruction_id") == [
        (0, ADD, 2),
        (1, "OPERATOR_CALL", 2),
        (2, ADD, 1),
    ]


def test_events_are_named_as_the_inspector_names_them(farm):
    names = ("event_name", "delegate_id", "is_delegated_op", "sample_count", "p50_ns", "avg_ns")
    assert shown(run_query(farm, "event_blocks", dump=3), *names) == [
        ("GEMM #1", "GEMM #1", True, 1, 1, 1),
        (ADD, None, False, 1, 1, 1),
        ("logged", None, False, 1, 1, 1),
        ("", None, False, 0, None, None),  # logged values without timing have no samples
        (MUL, None, False, 3, 20, 30),  # repeats within a run are all samples
        (MUL, None, False, 0, None, None),  # flagged events keep their row
    ]
