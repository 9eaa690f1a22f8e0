import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

LOAD = [
    Event("Program::load_method", 100, chain=-1),
    Event("Method::init", 80, chain=-1),
]
PROMPT = [Event("Method::execute", 500, 0, chain=-1)]


def _execute(ticks, flags=0):
    return [
        Event("native_call_add.out", ticks - 1, 0, flags=flags),
        Event("Method::execute", ticks, 0, chain=-1),
    ]


STEADY = [_execute(10)] * 20
FAST = [LOAD, *map(_execute, (50, 9, 9, 9, 9, 10, 10, 11, 10, 10))]
SLOW = [LOAD, LOAD, *map(_execute, (70, 9, 9, 9, 9, 20, 20, 20, 20, 20))]
# By name: the runs of each dump, and what is answered: see FIGURES.
FIGURES = ("load_count", "load_ns", "first_ns", "steady_ns", "cold_ns", "first_over_steady")
CASES = {
    "two dumps": ([FAST, SLOW], [3, 150, 60, 15, 210, (50 / 10 + 70 / 20) / 2]),
    # Steady runs are those like the first.
    "one prompt": ([[PROMPT, *STEADY]], [0, None, 500, None, None, None]),
    "ten prompts": ([[PROMPT, *STEADY, *[PROMPT] * 9]], [0, None, 500, 500, None, 1]),
    "flagged first": ([[_execute(1, flags=2), *STEADY[:11]]], [0, None, 10, 10, None, 1]),
    "four after warm-up": ([STEADY[:9]], [0, None, 10, None, None, None]),
    "load alone": ([[LOAD]], [1, 100, None, None, None, None]),
    "no load": ([STEADY[:10]], [0, None, 10, 10, None, 1]),
    # Method::init stands for a load that is not logged.
    "init alone": ([[LOAD[1:], _execute(10)]], [1, None, 10, None, 90, None]),
    "ticks": ([[LOAD, _execute(50), *STEADY]], [1, None, None, None, None, 5]),
    # Methods of a program add up their loads and their first runs.
    "two methods": (
        [[LOAD, *[PROMPT] * 10, LOAD, *[_execute(ticks) for ticks in (50, *[10] * 9)]]],
        [2, 200, 550, 510, 750, 550 / 510],
    ),
    # Of one method that runs other events later, the first run counts.
    "one method": ([[LOAD, *STEADY[:10], PROMPT]], [1, 100, 10, 10, 110, 1]),
    "neither": ([[[Event("native_call_add.out", 5, 0)]]], None),
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, (dumps, _) in CASES.items():
        for runs in dumps:
            clock = {"ns_per_tick": None} if device == "ticks" else {}
            store.add_runs(store.add_dump(device=device, **clock), runs)
    return run_by_device(store.connect(), "cold_start")


@pytest.mark.parametrize("case", CASES)
def test_load_first_run_and_steady_runs(case, rows):
    expected = CASES[case][1]
    assert shown(rows[case], *FIGURES) == ([] if expected is None else [tuple(expected)])


def test_dumps_and_inits_of_the_first_case_are_counted(rows):
    assert shown(rows["two dumps"], "dump_count", "init_ns") == [(2, 120)]
