import pytest

from tests.support.questions import farm_for
from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown

ADD = "native_call_add.out"
RUN = [
    Event(ADD, 40, 1),
    Event("OPERATOR_CALL", 50, 1),
    Event("", 10, 2, "GEMM #1"),
    Event("", 12, 2, "GEMM #2"),
    Event("DELEGATE_CALL", 25, 2),
    Event("Method::execute", 100, 0, chain=-1),
]


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    store.add_run(store.add_dump(device="one run"), RUN)
    store.add_runs(store.add_dump(device="failed run"), [RUN, RUN, RUN[:-1]])
    store.add_run(store.add_dump(device="delegate in ticks", delegate_ns_per_tick=None), RUN)
    return run_by_device(store.connect(), "operator_hotspots")


def test_one_run_by_hand(rows):
    names = ("rank", "event_name", "total_ns", "self_ns", "time_share", "self_share")
    assert shown(rows["one run"], *names) == [
        (1, ADD, 40, 40, 0.4, 0.4),
        (2, "Method::execute", 100, 35, 1.0, 0.35),
        (3, "GEMM #2", 12, 12, 0.12, 0.12),
        (4, "GEMM #1", 10, 10, 0.1, 0.1),
        (5, "DELEGATE_CALL", 25, 3, 0.25, 0.03),
    ]


def test_runs_are_summed_and_failed_ones_left_out(rows):
    assert shown(rows["failed run"][:2], "call_count", "total_ns", "mean_ns") == [
        (2, 80, 40),
        (2, 200, 100),
    ]


def test_self_shares_of_a_build_add_up_to_one():
    rows = run_query(farm_for("operator_hotspots"), "operator_hotspots", device="phone")
    for build in ("old", "new"):
        shares = [row["self_share"] for row in rows if row["build"] == build]
        assert sum(shares) == pytest.approx(1, rel=1e-12)


def test_delegate_timed_in_cycles_of_unknown_rate_has_no_self_time(rows):
    known = {row["event_name"]: row["self_ns"] for row in rows["delegate in ticks"]}
    assert known == {
        ADD: 40,
        "Method::execute": 35,
        "GEMM #1": None,
        "GEMM #2": None,
        "DELEGATE_CALL": None,
    }


def test_top_n_keeps_the_first_ranks_of_each_build():
    rows = run_query(farm_for("operator_hotspots"), "operator_hotspots", top_n=2)
    assert [row["rank"] for row in rows] == [1, 2] * 4
