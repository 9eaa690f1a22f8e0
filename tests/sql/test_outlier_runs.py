import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _run(conv=50, gemm=20, call=30, tax=10):
    return [
        Event("", gemm, 0, "GEMM #1"),
        Event("DELEGATE_CALL", call, 0),
        Event("native_call_conv.out", conv, 1),
        Event("Method::execute", conv + call + tax, 0, chain=-1),
    ]


USUAL = [_run()] * 25


def _ask(*runs, columns=None, **params):
    store = StoreRows()
    number = store.add_dump(**columns or {})
    for run in runs:
        store.add_run(number, run)
    return run_query(store.connect(), "outlier_runs", **params)


def test_a_slow_kernel_is_the_culprit():
    (row,) = _ask(*USUAL, _run(conv=140))
    assert (row["run_index"], row["execute_ns"], row["p50_ns"], row["excess"]) == (25, 180, 90, 1)
    excesses = ("kernel_excess_ns", "delegate_excess_ns", "tax_excess_ns")
    assert [row[name] for name in excesses] == [90, 0, 0]
    assert (row["culprit"], row["instruction_id"]) == ("native_call_conv.out", 1)
    assert (row["culprit_excess_ns"], row["culprit_share"]) == (90, 1)


@pytest.mark.parametrize(
    ("change", "culprit", "delegate_id", "excess"),
    [
        ({"gemm": 100, "call": 115}, "GEMM #1", "GEMM #1", 80),
        ({"gemm": 22, "call": 115}, "DELEGATE_CALL", None, 83),
        ({"tax": 100}, "Method::execute", None, 90),
    ],
)
def test_the_culprit_is_what_takes_longer_itself(change, culprit, delegate_id, excess):
    (row,) = _ask(*USUAL, _run(**change))
    assert (row["culprit"], row["delegate_id"]) == (culprit, delegate_id)
    assert row["culprit_excess_ns"] == excess


def test_where_nothing_else_is_logged_the_culprit_is_the_method():
    runs = [[Event("Method::execute", ticks, 0, chain=-1)] for ticks in [*[90] * 25, 180]]
    (row,) = _ask(*runs)
    assert (row["culprit"], row["culprit_excess_ns"]) == ("Method::execute", 90)


def test_the_least_excess_can_be_chosen():
    runs = [*USUAL, _run(conv=60), _run(conv=95)]
    assert [row["run_index"] for row in _ask(*runs)] == [26]
    assert [row["run_index"] for row in _ask(*runs, min_excess=0.1)] == [26, 25]


def test_runs_of_warm_up_are_no_outliers():
    assert _ask(*[_run(conv=500)] * 5, *[_run()] * 20) == []
    assert len(_ask(*[_run()] * 5, _run(conv=500), *[_run()] * 19)) == 1


def test_dumps_of_few_runs_have_no_outliers():
    assert _ask(*[_run()] * 23, _run(conv=500)) == []


def test_runs_are_compared_with_those_that_execute_the_same():
    prompt = [Event("Method::execute", 9000, 5, chain=-1)]
    assert _ask(*USUAL, *[prompt] * 25) == []


def test_a_flagged_event_keeps_its_run_out():
    assert _ask(*USUAL, [*_run(conv=500), Event("x", 1, flags=2)]) == []


def test_excess_needs_no_clock_rate():
    (row,) = _ask(*USUAL, _run(conv=140), columns={"ns_per_tick": None})
    assert (row["excess"], row["culprit"], row["execute_ns"]) == (1, "native_call_conv.out", None)


def test_without_events_the_culprit_is_unknown():
    store = StoreRows()
    number = store.add_dump()
    for run in [*USUAL, _run(conv=140)]:
        store.add_run(number, run)
    connection = store.connect()
    connection.execute("DELETE FROM events")
    (row,) = run_query(connection, "outlier_runs")
    assert (row["excess"], row["kernel_excess_ns"], row["culprit"]) == (1, 90, None)


def test_where_the_median_is_no_ticks_the_runs_above_it_are_slow():
    still = _run(conv=0, gemm=0, call=0, tax=0)
    rows = _ask(*[still] * 25, _run(conv=3, gemm=0, call=0, tax=0), still)
    assert [(row["run_index"], row["excess"], row["execute_ns"]) for row in rows] == [(25, None, 3)]
    assert rows[0]["culprit"] == "native_call_conv.out"


def test_runs_that_take_their_median_are_not_slow_whatever_the_least_excess():
    assert [row["run_index"] for row in _ask(*USUAL, _run(conv=51), min_excess=0)] == [25]
