import pytest

from tests.support.small_farm import small_farm
from tests.support.store_rows import Event, StoreRows, run_query

ADD = "native_call_add.out"
RUN = [
    Event(ADD, 40, 1),
    Event("OPERATOR_CALL", 50, 1),
    Event("", 10, 2, "GEMM #1"),
    Event("", 12, 2, "GEMM #2"),
    Event("DELEGATE_CALL", 25, 2),
    Event("Method::execute", 100, 0, chain=-1),
]


def _ask(*runs, dump=None, **params):
    store = StoreRows()
    number = store.add_dump(**(dump or {}))
    for run in runs:
        store.add_run(number, run)
    return run_query(store.connect(), "operator_hotspots", **params)


def test_one_run_by_hand():
    rows = _ask(RUN)
    assert [
        (r["rank"], r["event_name"], r["total_ns"], r["self_ns"], r["time_share"], r["self_share"])
        for r in rows
    ] == [
        (1, ADD, 40, 40, 0.4, 0.4),
        (2, "Method::execute", 100, 35, 1.0, 0.35),
        (3, "GEMM #2", 12, 12, 0.12, 0.12),
        (4, "GEMM #1", 10, 10, 0.1, 0.1),
        (5, "DELEGATE_CALL", 25, 3, 0.25, 0.03),
    ]


def test_runs_are_summed_and_failed_ones_left_out():
    rows = _ask(RUN, RUN, RUN[:-1])
    assert [(r["call_count"], r["total_ns"], r["mean_ns"]) for r in rows[:2]] == [
        (2, 80, 40),
        (2, 200, 100),
    ]


def test_self_shares_of_a_build_add_up_to_one():
    rows = run_query(small_farm(), "operator_hotspots", device="phone")
    for build in ("old", "new"):
        shares = [row["self_share"] for row in rows if row["build"] == build]
        assert sum(shares) == pytest.approx(1, rel=1e-12)


def test_delegate_timed_in_cycles_of_unknown_rate_has_no_self_time():
    rows = _ask(RUN, dump={"delegate_ns_per_tick": None})
    known = {row["event_name"]: row["self_ns"] for row in rows}
    assert known == {
        ADD: 40,
        "Method::execute": 35,
        "GEMM #1": None,
        "GEMM #2": None,
        "DELEGATE_CALL": None,
    }


def test_top_n_keeps_the_first_ranks_of_each_build():
    rows = run_query(small_farm(), "operator_hotspots", top_n=2)
    assert [row["rank"] for row in rows] == [1, 2] * 4
