import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

EXECUTE = Event("Method::execute", 200, 0, chain=-1)


def _call(instruction, ticks, *op_ticks):
    ops = [Event("", ticks, instruction, f"OP #{n}") for n, ticks in enumerate(op_ticks, start=1)]
    return [*ops, Event("DELEGATE_CALL", ticks, instruction)]


def _kernel(instruction, name="add"):
    return [
        Event(f"native_call_{name}.out", 10, instruction),
        Event("OPERATOR_CALL", 11, instruction),
    ]


TWO_CALLS = [*_kernel(0), *_call(1, 30, 10, 5), *_kernel(2, "mul"), *_call(3, 8)]
CASES = {
    "two calls": [TWO_CALLS] * 2,
    "one after the other": [[*_call(0, 5), *_call(1, 5), *_kernel(2)]],
    "one delegate": [_call(0, 30, 10)],
    "loop": [[*_kernel(0), *_call(1, 10, 4), *_call(1, 20, 4)]],
    "two methods": [[*_kernel(0), *_call(1, 10)], _call(0, 10)],
    "delegate in ticks": [_call(0, 30, 10)],
    "no delegate": [_kernel(0)],
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, runs in CASES.items():
        clock = {"delegate_ns_per_tick": None} if device == "delegate in ticks" else {}
        store.add_runs(store.add_dump(device=device, **clock), [[*run, EXECUTE] for run in runs])
    return run_by_device(store.connect(), "delegate_transitions")


def test_steps_around_a_call_and_its_cost_by_hand(rows):
    names = ("instruction_id", "step_before", "step_after", "run_crossings", "program_crossings")
    assert shown(rows["two calls"], *names) == [
        (1, "native_call_add.out", "native_call_mul.out", 2, 3),
        (3, "native_call_mul.out", None, 1, 3),
    ]
    assert shown(rows["two calls"], "call_ns", "operator_ns", "crossing_ns", "crossing_share") == [
        (30, 15, 15, 0.075),
        (8, None, None, None),
    ]


def test_delegate_transitions_count_each_crossed_boundary_once(rows):
    # The boundary between two calls counts once.
    assert shown(rows["one after the other"], "run_crossings", "step_after") == [
        (0, "DELEGATE_CALL"),
        (2, "native_call_add.out"),
    ]
    crossings = ("run_crossings", "program_crossings", "crossing_ns")
    assert shown(rows["one delegate"], *crossings) == [(0, 0, 20)]
    methods = shown(rows["two methods"], "run_calls", "program_crossings")
    assert sorted(methods) == [(1, 0), (1, 1)]
    assert rows["no delegate"] == []


def test_a_call_in_a_loop_counts_each_time(rows):
    names = ("run_calls", "run_crossings", "call_ns", "operator_ns", "crossing_ns")
    assert shown(rows["loop"], *names) == [(2, 2, 15, 4, 11)]


def test_operators_in_cycles_of_unknown_rate_leave_the_cost_open(rows):
    names = ("call_ns", "operator_ns", "crossing_ns")
    assert shown(rows["delegate in ticks"], *names) == [(30, None, None)]
