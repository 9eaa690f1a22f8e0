from tests.support.store_rows import Event, StoreRows, run_query

LOAD = [
    Event("Program::load_method", 100, chain=-1),
    Event("Method::init", 80, chain=-1),
]


def _execute(ticks, flags=0):
    return [
        Event("native_call_add.out", ticks - 1, 0, flags=flags),
        Event("Method::execute", ticks, 0, chain=-1),
    ]


def _ask(*dumps, **columns):
    """One dump for each list of runs."""
    store = StoreRows()
    for runs in dumps:
        number = store.add_dump(**columns)
        for run in runs:
            store.add_run(number, run)
    return run_query(store.connect(), "cold_start")


def test_load_first_run_and_steady_runs_by_hand():
    fast = [LOAD, *map(_execute, (50, 9, 9, 9, 9, 10, 10, 11, 10, 10))]
    slow = [LOAD, LOAD, *map(_execute, (70, 9, 9, 9, 9, 20, 20, 20, 20, 20))]
    (row,) = _ask(fast, slow)
    assert (row["dump_count"], row["load_count"]) == (2, 3)
    assert (row["load_ns"], row["init_ns"]) == (150, 120)
    assert (row["first_ns"], row["steady_ns"], row["cold_ns"]) == (60, 15, 210)
    assert row["first_over_steady"] == (50 / 10 + 70 / 20) / 2


def test_steady_runs_are_those_like_the_first():
    prompt = [Event("Method::execute", 500, 0, chain=-1)]
    (row,) = _ask([prompt, *[_execute(10)] * 20])
    assert (row["first_ns"], row["steady_ns"], row["first_over_steady"]) == (500, None, None)
    (row,) = _ask([prompt, *[_execute(10)] * 20, *[prompt] * 9])
    assert row["steady_ns"] == 500


def test_a_run_that_cannot_be_right_is_not_the_first():
    (row,) = _ask([_execute(1, flags=2), *[_execute(10)] * 11])
    assert (row["first_ns"], row["steady_ns"]) == (10, 10)


def test_four_runs_after_warm_up_are_too_few():
    (row,) = _ask([_execute(10)] * 9)
    assert row["steady_ns"] is None


def test_a_dump_of_a_load_alone_has_no_first_run():
    (row,) = _ask([LOAD])
    assert (row["load_ns"], row["first_ns"], row["cold_ns"]) == (100, None, None)


def test_without_a_load_there_is_no_cold_start():
    (row,) = _ask([_execute(10)] * 10)
    assert (row["load_count"], row["load_ns"], row["cold_ns"]) == (0, None, None)


def test_init_stands_for_a_load_that_is_not_logged():
    (row,) = _ask([LOAD[1:], _execute(10)])
    assert (row["load_ns"], row["cold_ns"]) == (None, 90)


def test_a_ratio_needs_no_clock_rate():
    (row,) = _ask([LOAD, _execute(50), *[_execute(10)] * 20], ns_per_tick=None)
    assert (row["load_ns"], row["first_ns"], row["first_over_steady"]) == (None, None, 5)


def test_a_dump_of_neither_has_no_row():
    assert _ask([[Event("native_call_add.out", 5, 0)]]) == []


def test_methods_of_a_program_add_up_their_loads_and_their_first_runs():
    prompt = [Event("Method::execute", 500, 0, chain=-1)]
    prompts, tokens = [prompt] * 10, [_execute(ticks) for ticks in (50, *[10] * 9)]
    (row,) = _ask([LOAD, *prompts, LOAD, *tokens])
    assert (row["load_count"], row["load_ns"]) == (2, 200)
    assert (row["first_ns"], row["steady_ns"], row["cold_ns"]) == (550, 510, 750)
    assert row["first_over_steady"] == 550 / 510


def test_of_one_method_that_runs_other_events_later_the_first_run_counts():
    (row,) = _ask([LOAD, *[_execute(10)] * 10, [Event("Method::execute", 500, 0, chain=-1)]])
    assert (row["first_ns"], row["steady_ns"]) == (10, 10)
