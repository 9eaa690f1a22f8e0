import math
from functools import cache
from statistics import median

import pytest

from tests.support.store_rows import Event, StoreRows, run_query

CONV = "native_call_conv.out"
RUNS = 25  # 20 are left after warm-up
OLD = [100_000 + 50 * step for step in range(10)]


def _faster(values, percent):
    return [value * (100 + percent) // 100 for value in values]


def _store(*levels, **columns):
    """A store of builds b1, b2, ... whose dumps have these values."""
    store = StoreRows()
    for ordinal, values in enumerate(levels, start=1):
        store.add_build(f"b{ordinal}", ordinal=ordinal)
        for value in values:
            number = store.add_dump(build=f"b{ordinal}", **columns)
            for _ in range(RUNS):
                store.add_run(number, [Event(CONV, value, 1)])
    return store


def _ask(*levels, **params):
    (row,) = run_query(_store(*levels).connect(), "change_points", **params)
    return row


def test_a_step_of_ten_per_cent_by_hand():
    new = _faster(OLD, 10)
    row = _ask(OLD, OLD, new, new)
    before, after = OLD * 2, new * 2
    assert row == {
        "device": "phone",
        "model": "net",
        "backend": "xnnpack",
        "run": "Execute (incomplete)",
        "event_name": CONV,
        "delegate_id": None,
        "ordinal": 1,
        "build_count": 4,
        "dump_count": 40,
        "first_bad": "b3",
        "last_good": "b2",
        "unit": "ns",
        "before": median(before),
        "after": median(after),
        "now": median(after),
        "delta": pytest.approx(median(math.log(b / a) for a in before for b in after), abs=5e-3),
        "p": pytest.approx(2 / math.comb(40, 20), rel=1e-6),
        "verdict": "regression",
    }
    shift = median(math.log(b / a) for a in before for b in after)
    assert row["delta"] == pytest.approx(math.exp(shift) - 1, rel=1e-12)


def test_p_of_samples_that_overlap_by_hand():
    mixed = [OLD[5 * step % 10] for step in range(9)] + [200_000]
    row = _ask(OLD, mixed, mixed)
    u = sum((b > a) + (b == a) / 2 for a in OLD for b in mixed * 2)
    rarer = sum(_orders(10, 20, rank) for rank in range(math.ceil(min(u, 200 - u)) + 1))
    assert row["p"] == pytest.approx(2 * rarer / math.comb(30, 10), rel=1e-6)


@cache
def _orders(few, many, u):
    """How many orders of two samples give this U: the largest value is of one or of the other."""
    if u < 0 or few < 0 or many < 0:
        return 0
    if few == 0 or many == 0:
        return int(u == 0)
    return _orders(few - 1, many, u - many) + _orders(few, many - 1, u)


def test_few_dumps_are_tested_by_the_exact_distribution():
    new = _faster(OLD[:6], 10)
    row = _ask(OLD[:8], OLD[:8], new, new)
    assert math.erfc((16 * 12 / 2 - 0.5) / math.sqrt(2 * 16 * 12 * 29 / 12)) > 5e-6  # normal
    assert row["p"] == pytest.approx(2 / math.comb(28, 12), rel=1e-6)
    assert (row["verdict"], row["first_bad"]) == ("regression", "b3")


def test_what_is_too_sure_for_unchanged_and_not_sure_enough_is_inconclusive():
    new = _faster(OLD, 10)
    mixed = [OLD[0], OLD[1], *new[2:]]
    row = _ask(OLD, OLD, OLD, OLD, mixed, OLD[:2] + new[2:])
    assert row["verdict"] == "inconclusive"
    assert 1e-6 < row["p"] <= 1e-4
    assert row["delta"] > 0.03
    assert row["first_bad"] is None


def test_no_change_is_unchanged():
    row = _ask(*[OLD] * 6)
    assert (row["verdict"], row["first_bad"], row["delta"]) == ("unchanged", None, None)
    assert row["p"] == 1


def test_faster_is_an_improvement_since_its_build():
    row = _ask(*[OLD] * 5, *[_faster(OLD, -10)] * 3)
    assert (row["verdict"], row["last_good"], row["first_bad"]) == ("improvement", "b5", "b6")
    assert row["delta"] == pytest.approx(-0.1, abs=1e-3)


def test_certain_but_small_change_is_unchanged():
    levels = [OLD] * 4 + [_faster(OLD, 2)] * 4
    assert _ask(*levels)["verdict"] == "unchanged"
    assert _ask(*levels, min_change=0.01)["verdict"] == "regression"


def test_change_that_later_builds_lost_is_gone():
    row = _ask(*[OLD] * 6, *[_faster(OLD, 20)] * 5, *[OLD] * 2)
    assert (row["verdict"], row["first_bad"]) == ("gone", "b7")
    assert (row["before"], row["now"]) == (median(OLD), median(OLD))


def test_change_of_the_last_build_alone_waits_for_another():
    row = _ask(*[OLD] * 2, _faster(OLD, 20))
    assert row["first_bad"] != "b3"


def test_builds_further_back_are_not_looked_at():
    row = _ask([1_000_000] * 10, *[OLD] * 18)
    assert (row["verdict"], row["build_count"], row["p"]) == ("unchanged", 19, 1)


@pytest.mark.parametrize("levels", [[OLD], [OLD, OLD], [OLD[:5]] * 4])
def test_too_few_dumps_or_builds_are_insufficient(levels):
    assert _ask(*levels)["verdict"] == "insufficient_data"


def test_time_too_short_for_its_clock_is_below_resolution():
    short = [700 + step for step in range(10)]
    assert _ask(*[short] * 3, *[[2 * value for value in short]] * 3)["verdict"] == (
        "below_resolution"
    )


def test_builds_are_in_their_order_and_not_in_that_of_their_names():
    store = StoreRows()
    for ordinal, (build, percent) in enumerate((("d", 0), ("c", 0), ("b", 10), ("a", 10))):
        store.add_build(build, ordinal=ordinal)
        for value in _faster(OLD, percent):
            number = store.add_dump(build=build)
            for _ in range(RUNS):
                store.add_run(number, [Event(CONV, value, 1)])
    (row,) = run_query(store.connect(), "change_points")
    assert (row["last_good"], row["first_bad"]) == ("c", "b")
