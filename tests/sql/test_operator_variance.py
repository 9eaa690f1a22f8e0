import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

MUL, ADD = "native_call_mul.out", "native_call_add.out"
CALLS = [
    Event("", 5, 0, "GEMM #1"),
    Event("DELEGATE_CALL", 9, 0),
    Event("DELEGATE_CALL", 9, 1),
    Event("OPERATOR_CALL", 9, 2),
    Event("Method::execute", 30, 0, chain=-1),
]
UNKNOWN = {"ns_per_tick": None}


def _runs(*times):
    return [[Event(MUL, mul, 0), Event(ADD, add, 1)] for mul, add in times]


# By device: the runs of each dump, and its clocks.
CASES = {
    "two operators": (
        [
            _runs((10, 100), (110, 100)),
            _runs((10, 100), (10, 200)),
            _runs((10, 100), (310, 100)),
        ],
        {},
    ),
    "calls": ([[CALLS, CALLS]], {}),
    "no tail": ([[[Event(MUL, 7, 0)]]] * 3, {}),
    "flagged": ([[[Event(MUL, 7, 0)]], [[Event(MUL, 9999, 0, flags=2)]]], {}),
    "ticks": ([[[Event(MUL, 7, 0)]]], UNKNOWN),
    "all in ticks": ([_runs((10, 100), (310, 200))], UNKNOWN | {"delegate_ns_per_tick": None}),
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, (dumps, clocks) in CASES.items():
        for runs in dumps:
            store.add_runs(store.add_dump(device=device, **clocks), runs)
    return run_by_device(store.connect(), "operator_variance")


def test_operators_with_the_most_tail_come_first(rows):
    mul, add = rows["two operators"]
    assert (mul["event_name"], mul["dump_count"], mul["sample_count"]) == (MUL, 3, 6)
    assert (mul["p50_ns"], mul["p99_ns"]) == (60, 109)
    assert mul["tail_ns"] == pytest.approx(49)
    assert mul["p99_over_p50"] == pytest.approx(109 / 60)
    assert mul["tail_share"] == pytest.approx(0.8)
    assert add["tail_share"] == pytest.approx(0.2)


def test_variance_counts_unflagged_operators_and_calls_without_operators(rows):
    # A call does where its delegate logs no operators.
    found = [("delegate_op", 0), ("delegate_call", 1)]
    assert shown(rows["calls"], "kind", "instruction_id") == found
    assert shown(rows["flagged"], "sample_count", "p99_ns") == [(1, 7)]


def test_shares_need_a_tail_but_no_clock_rate_where_none_is_known(rows):
    assert shown(rows["no tail"], "tail_ns", "tail_share") == [(0, None)]
    assert shown(rows["ticks"], "p50_ns", "tail_ns", "tail_share") == [(None, None, None)]
    assert shown(rows["all in ticks"], "event_name", "tail_ns", "tail_share") == [
        (MUL, None, pytest.approx(0.75)),
        (ADD, None, pytest.approx(0.25)),
    ]
