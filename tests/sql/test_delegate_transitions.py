from tests.support.store_rows import Event, StoreRows, run_query

EXECUTE = Event("Method::execute", 200, 0, chain=-1)


def _call(instruction, ticks, *op_ticks):
    ops = [Event("", ticks, instruction, f"OP #{n}") for n, ticks in enumerate(op_ticks, start=1)]
    return [*ops, Event("DELEGATE_CALL", ticks, instruction)]


def _kernel(instruction, name="add"):
    return [
        Event(f"native_call_{name}.out", 10, instruction),
        Event("OPERATOR_CALL", 11, instruction),
    ]


def _ask(*runs, **columns):
    store = StoreRows()
    number = store.add_dump(**columns)
    for run in runs:
        store.add_run(number, [*run, EXECUTE])
    return run_query(store.connect(), "delegate_transitions")


def _shown(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


def test_steps_around_a_call_and_its_cost_by_hand():
    run = [*_kernel(0), *_call(1, 30, 10, 5), *_kernel(2, "mul"), *_call(3, 8)]
    rows = _ask(run, run)
    names = ("instruction_id", "step_before", "step_after", "run_crossings", "program_crossings")
    assert _shown(rows, *names) == [
        (1, "native_call_add.out", "native_call_mul.out", 2, 3),
        (3, "native_call_mul.out", None, 1, 3),
    ]
    assert _shown(rows, "call_ns", "operator_ns", "crossing_ns", "crossing_share") == [
        (30, 15, 15, 0.075),
        (8, None, None, None),
    ]


def test_the_boundary_between_two_calls_counts_once():
    rows = _ask([*_call(0, 5), *_call(1, 5), *_kernel(2)])
    assert _shown(rows, "run_crossings", "step_after") == [
        (0, "DELEGATE_CALL"),
        (2, "native_call_add.out"),
    ]


def test_a_program_in_one_delegate_crosses_nothing():
    (row,) = _ask(_call(0, 30, 10))
    assert (row["run_crossings"], row["program_crossings"], row["crossing_ns"]) == (0, 0, 20)


def test_a_call_in_a_loop_counts_each_time():
    (row,) = _ask([*_kernel(0), *_call(1, 10, 4), *_call(1, 20, 4)])
    assert (row["run_calls"], row["run_crossings"]) == (2, 2)
    assert (row["call_ns"], row["operator_ns"], row["crossing_ns"]) == (15, 4, 11)


def test_methods_of_one_program_are_told_apart():
    rows = _ask([*_kernel(0), *_call(1, 10)], _call(0, 10))
    assert sorted(_shown(rows, "run_calls", "program_crossings")) == [(1, 0), (1, 1)]


def test_operators_in_cycles_of_unknown_rate_leave_the_cost_open():
    (row,) = _ask(_call(0, 30, 10), delegate_ns_per_tick=None)
    assert (row["call_ns"], row["operator_ns"], row["crossing_ns"]) == (30, None, None)


def test_a_program_without_delegates_has_no_rows():
    assert _ask(_kernel(0)) == []
