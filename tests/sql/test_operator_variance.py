import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _ask(*dumps, columns=None, **params):
    """One dump for each list of runs, which are events each."""
    store = StoreRows()
    for runs in dumps:
        number = store.add_dump(**columns or {})
        for events in runs:
            store.add_run(number, events)
    return run_query(store.connect(), "operator_variance", **params)


def test_operators_with_the_most_tail_come_first():
    dumps = [
        [[Event("native_call_mul.out", a, 0), Event("native_call_add.out", b, 1)] for a, b in runs]
        for runs in ([(10, 100), (110, 100)], [(10, 100), (10, 200)], [(10, 100), (310, 100)])
    ]
    mul, add = _ask(*dumps)
    assert (mul["event_name"], mul["dump_count"], mul["sample_count"]) == (
        "native_call_mul.out", 3, 6,
    )  # fmt: skip
    assert (mul["p50_ns"], mul["p99_ns"]) == (60, 109)
    assert mul["tail_ns"] == pytest.approx(49)
    assert mul["p99_over_p50"] == pytest.approx(109 / 60)
    assert mul["tail_share"] == pytest.approx(0.8)
    assert add["tail_share"] == pytest.approx(0.2)


def test_a_call_counts_where_its_delegate_logs_no_operators():
    run = [
        Event("", 5, 0, "GEMM #1"),
        Event("DELEGATE_CALL", 9, 0),
        Event("DELEGATE_CALL", 9, 1),
        Event("OPERATOR_CALL", 9, 2),
        Event("Method::execute", 30, 0, chain=-1),
    ]
    rows = _ask([run, run])
    assert [(row["kind"], row["instruction_id"]) for row in rows] == [
        ("delegate_op", 0),
        ("delegate_call", 1),
    ]


def test_without_any_tail_there_are_no_shares():
    (row,) = _ask([[Event("native_call_mul.out", 7, 0)]] * 3)
    assert (row["tail_ns"], row["tail_share"]) == (0, None)


def test_flagged_events_are_left_out():
    (row,) = _ask([
        [Event("native_call_mul.out", 7, 0)],
        [Event("native_call_mul.out", 9999, 0, flags=2)],
    ])  # fmt: skip
    assert (row["sample_count"], row["p99_ns"]) == (1, 7)


def test_cycles_of_unknown_rate_have_no_times():
    (row,) = _ask([[Event("native_call_mul.out", 7, 0)]], columns={"ns_per_tick": None})
    assert (row["p50_ns"], row["tail_ns"], row["tail_share"]) == (None, None, None)


def test_shares_need_no_clock_rate_where_none_is_known():
    runs = [
        [Event("native_call_mul.out", a, 0), Event("native_call_add.out", b, 1)]
        for a, b in [(10, 100), (310, 200)]
    ]
    columns = {"ns_per_tick": None, "delegate_ns_per_tick": None}
    mul, add = _ask(runs, columns=columns)
    assert (mul["tail_ns"], mul["tail_share"]) == (None, pytest.approx(0.75))
    assert (add["event_name"], add["tail_share"]) == ("native_call_add.out", pytest.approx(0.25))
