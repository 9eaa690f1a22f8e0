import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown


def _run(conv=50, gemm=20, call=30, tax=10):
    return [
        Event("", gemm, 0, "GEMM #1"),
        Event("DELEGATE_CALL", call, 0),
        Event("native_call_conv.out", conv, 1),
        Event("Method::execute", conv + call + tax, 0, chain=-1),
    ]


def _methods(*ticks, instruction=0):
    return [[Event("Method::execute", one, instruction, chain=-1)] for one in ticks]


USUAL = [_run()] * 25
SLOW = _run(conv=140)
STILL = _run(conv=0, gemm=0, call=0, tax=0)
CASES = {
    "slow kernel": [*USUAL, SLOW],
    "slow operator of a delegate": [*USUAL, _run(gemm=100, call=115)],
    "slow call": [*USUAL, _run(gemm=22, call=115)],
    "slow framework": [*USUAL, _run(tax=100)],
    "method alone": _methods(*[90] * 25, 180),
    "two slow runs": [*USUAL, _run(conv=60), _run(conv=95)],
    "slow at first": [*[_run(conv=500)] * 5, *[_run()] * 20],
    "slow after warm-up": [*[_run()] * 5, _run(conv=500), *[_run()] * 19],
    "few runs": [*[_run()] * 23, _run(conv=500)],
    "two methods": [*USUAL, *_methods(*[9000] * 25, instruction=5)],
    "flagged": [*USUAL, [*_run(conv=500), Event("x", 1, flags=2)]],
    "ticks": [*USUAL, SLOW],
    "without events": [*USUAL, SLOW],
    # Where the median is no ticks at all, the runs above it are slow.
    "no ticks": [*[STILL] * 25, _run(conv=3, gemm=0, call=0, tax=0), STILL],
    "hardly slower": [*USUAL, _run(conv=51)],
    "by whole percents": _methods(*[100] * 25, 107, 110, 115, 129),
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, runs in CASES.items():
        clock = {"ns_per_tick": None} if device == "ticks" else {}
        store.add_runs(store.add_dump(device=device, **clock), runs)
    connection = store.connect()
    number = [*CASES].index("without events") + 1
    connection.execute("DELETE FROM events WHERE dump_id = ?", [number])
    return connection


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "outlier_runs")


def test_a_slow_run_has_the_excess_of_its_parts_by_hand(rows):
    names = ("run_index", "execute_ns", "p50_ns", "excess")
    assert shown(rows["slow kernel"], *names) == [(25, 180, 90, 1)]
    parts = ("kernel_excess_ns", "delegate_excess_ns", "tax_excess_ns", "culprit_share")
    assert shown(rows["slow kernel"], *parts) == [(90, 0, 0, 1)]


def test_the_culprit_of_an_outlier_is_what_takes_longer_itself(rows):
    names = ("culprit", "delegate_id", "instruction_id", "culprit_excess_ns")
    assert {
        case: shown(rows[case], *names) for case in [*CASES][:5]
    } == {
        "slow kernel": [("native_call_conv.out", None, 1, 90)],
        "slow operator of a delegate": [("GEMM #1", "GEMM #1", 0, 80)],
        "slow call": [("DELEGATE_CALL", None, 0, 83)],
        "slow framework": [("Method::execute", None, None, 90)],
        "method alone": [("Method::execute", None, None, 90)],
    }  # fmt: skip


def test_outliers_are_slow_complete_runs_after_warm_up(rows):
    assert {case: shown(rows[case], "run_index", "excess") for case in [*CASES][5:]} == {
        "two slow runs": [(26, 0.5)],
        "slow at first": [],
        "slow after warm-up": [(5, 5)],
        "few runs": [],
        "two methods": [],
        "flagged": [],
        "ticks": [(25, 1)],
        "without events": [(25, 1)],
        "no ticks": [(25, None)],
        "hardly slower": [],
        "by whole percents": [],
    }


def test_unknown_figures_of_an_outlier_are_null(rows):
    names = ("execute_ns", "kernel_excess_ns", "culprit")
    assert shown(rows["ticks"], *names) == [(None, None, "native_call_conv.out")]
    assert shown(rows["without events"], *names) == [(180, 90, None)]
    assert shown(rows["no ticks"], *names) == [(3, 3, "native_call_conv.out")]


@pytest.mark.parametrize(
    ("least", "expected"), [(0.07, 4), ("7.1%", 3), ("10%", 3), (0.15, 2), (0.29, 1), (0.291, 0)]
)
def test_a_run_that_has_exactly_the_least_excess_is_an_outlier(farm, least, expected):
    found = run_query(farm, "outlier_runs", device="by whole percents", min_excess=least)
    assert shown(found, "excess") == [(share,) for share in (0.29, 0.15, 0.1, 0.07)[:expected]]


def test_the_least_excess_can_be_chosen(farm):
    found = run_query(farm, "outlier_runs", device="two slow runs", min_excess=0.1)
    assert [row["run_index"] for row in found] == [26, 25]
    # Runs that take their median are not slow.
    found = run_query(farm, "outlier_runs", device="hardly slower", min_excess=0)
    assert [row["run_index"] for row in found] == [25]
