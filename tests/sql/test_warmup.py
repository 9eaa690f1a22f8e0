import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown

STEADY = [100] * 17
# The first runs of a dump, and how many of them are warm-up: up to the first steady run whose
# median with the next two is steady too.
FIRST = [
    ([100, 100, 100], 0),
    ([400, 200, 150], 3),
    ([400, 100, 100], 1),
    ([400, 100, 400, 400], 4),  # one fast run among slow ones
    ([400, 100, 400], 1),
    ([100, 400, 100], 0),  # one slow run among fast ones
    ([105, 105, 105], 0),
    ([106, 106, 106], 3),
]
DUMPS = {
    **{str(first): [[*first, *STEADY]] for first, _ in FIRST},
    "three dumps": [[300, 100, 100, *STEADY], [400, 300, 100, *STEADY], [100] * 20],
    "tolerance": [[150, 150, 120, *STEADY]],
    "whole percents": [[129, 115, 107, *STEADY]],
    "short": [[100] * 19],
    "ticks": [[400, 200, 150, *STEADY]],
}


def _executed(ticks, instruction=0):
    return [Event("Method::execute", ticks, instruction, chain=-1)]


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, dumps in DUMPS.items():
        for ticks in dumps:
            clock = {"ns_per_tick": None} if device == "ticks" else {}
            store.add_runs(store.add_dump(device=device, **clock), map(_executed, ticks))
    number = store.add_dump(device="two methods")
    for ticks in [400, 400, 100, *STEADY]:
        store.add_runs(number, [_executed(ticks), _executed(7, 5)])
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "warmup")


def test_warm_is_the_first_steady_run_whose_median_with_the_next_two_is_so_too(rows):
    found = {str(first): shown(rows[str(first)], "warmup_runs", "most_runs") for first, _ in FIRST}
    assert found == {str(first): [(expected, expected)] for first, expected in FIRST}


def test_figures_are_medians_over_dumps(rows):
    counts = ("dump_count", "run_count", "warmup_runs", "most_runs")
    assert shown(rows["three dumps"], *counts) == [(3, 60, 1, 2)]
    times = ("first_ns", "steady_ns", "lost_ns", "first_over_steady")
    assert shown(rows["three dumps"], *times) == [(300, 100, 200, 3)]
    # Cycles of unknown rate have no times.
    assert shown(rows["ticks"], "warmup_runs", *times) == [(3, None, None, None, 4)]


def test_the_tolerance_is_a_share_of_the_steady_time(farm, rows):
    assert rows["tolerance"][0]["warmup_runs"] == 3
    (row,) = run_query(farm, "warmup", device="tolerance", tolerance=0.5)
    assert row["warmup_runs"] == 0


@pytest.mark.parametrize(("tolerance", "runs"), [(0.07, 2), (0.15, 1), (0.29, 0), (0.28, 1)])
def test_a_run_that_is_slower_by_exactly_the_tolerance_is_steady(farm, tolerance, runs):
    (row,) = run_query(farm, "warmup", device="whole percents", tolerance=tolerance)
    assert row["warmup_runs"] == runs


def test_shorter_dumps_do_not_count_and_run_signatures_are_told_apart(rows):
    assert rows["short"] == []
    methods = rows["two methods"]
    assert sorted(row["warmup_runs"] for row in methods) == [0, 2]
    assert len({row["run_signature_id"] for row in methods}) == 2
