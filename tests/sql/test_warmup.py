import pytest

from tests.support.store_rows import Event, StoreRows, run_query

STEADY = [100] * 17


def _ask(*dumps, columns=None, **params):
    store = StoreRows()
    for runs in dumps:
        number = store.add_dump(**columns or {})
        for ticks in runs:
            store.add_run(number, [Event("Method::execute", ticks, 0, chain=-1)])
    return run_query(store.connect(), "warmup", **params)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([100, 100, 100], 0),
        ([400, 200, 150], 3),
        ([400, 100, 100], 1),
        ([400, 100, 400, 400], 4),  # one fast run among slow ones
        ([400, 100, 400], 1),
        ([100, 400, 100], 0),  # one slow run among fast ones
        ([105, 105, 105], 0),
        ([106, 106, 106], 3),
    ],
)
def test_warm_is_the_first_steady_run_whose_median_with_the_next_two_is_so_too(first, expected):
    (row,) = _ask([*first, *STEADY])
    assert (row["warmup_runs"], row["most_runs"]) == (expected, expected)


def test_figures_are_medians_over_dumps():
    dumps = [[300, 100, 100], [400, 300, 100], [100, 100, 100]]
    (row,) = _ask(*([*first, *STEADY] for first in dumps))
    assert (row["dump_count"], row["run_count"]) == (3, 60)
    assert (row["warmup_runs"], row["most_runs"]) == (1, 2)
    assert (row["first_ns"], row["steady_ns"], row["lost_ns"]) == (300, 100, 200)
    assert row["first_over_steady"] == 3


def test_the_tolerance_is_a_share_of_the_steady_time():
    runs = [150, 150, 120, *STEADY]
    assert _ask(runs)[0]["warmup_runs"] == 3
    assert _ask(runs, tolerance=0.5)[0]["warmup_runs"] == 0


def test_shorter_dumps_do_not_count():
    assert _ask([100] * 19) == []


def test_run_signatures_are_told_apart():
    store = StoreRows()
    number = store.add_dump()
    for ticks in [400, 400, 100, *STEADY]:
        store.add_run(number, [Event("Method::execute", ticks, 0, chain=-1)])
        store.add_run(number, [Event("Method::execute", 7, 5, chain=-1)])
    rows = run_query(store.connect(), "warmup")
    assert sorted(row["warmup_runs"] for row in rows) == [0, 2]
    assert len({row["run_signature_id"] for row in rows}) == 2


def test_cycles_of_unknown_rate_have_no_times():
    (row,) = _ask([400, 200, 150, *STEADY], columns={"ns_per_tick": None})
    assert (row["warmup_runs"], row["first_over_steady"]) == (3, 4)
    assert (row["first_ns"], row["steady_ns"], row["lost_ns"]) == (None, None, None)
