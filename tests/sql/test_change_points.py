import math
from functools import cache
from statistics import median

import pytest

from tests.support.builds import CONV, Builds
from tests.support.store_rows import run_by_device

OLD = [100_000 + 50 * step for step in range(10)]


def _faster(values, percent):
    return [value * (100 + percent) // 100 for value in values]


NEW = _faster(OLD, 10)
MIXED = [OLD[5 * step % 10] for step in range(9)] + [200_000]
SHORT = [700 + step for step in range(10)]
# By name of the case: the values of its dumps, build by build, and the verdict.
CASES = {
    "step": ([OLD, OLD, NEW, NEW], "regression"),
    "overlapping": ([OLD, MIXED, MIXED], "unchanged"),
    "few dumps": ([OLD[:8], OLD[:8], NEW[:6], NEW[:6]], "regression"),
    "not sure": ([OLD] * 4 + [[*OLD[:2], *NEW[2:]]] * 2, "inconclusive"),
    "same": ([OLD] * 6, "unchanged"),
    "faster": ([OLD] * 5 + [_faster(OLD, -10)] * 3, "improvement"),
    "small": ([OLD] * 4 + [_faster(OLD, 2)] * 4, "unchanged"),
    "by 3 percent": ([[100_000] * 10] * 4 + [[103_000] * 10] * 4, "regression"),
    "faster by 3 percent": ([[100_000] * 10] * 4 + [[97_000] * 10] * 4, "improvement"),
    "gone": ([OLD] * 6 + [_faster(OLD, 20)] * 5 + [OLD] * 2, "gone"),
    "far back": ([[1_000_000] * 10, *[OLD] * 18], "unchanged"),
    "one build": ([OLD], "insufficient_data"),
    "two builds": ([OLD, OLD], "insufficient_data"),
    "five dumps": ([OLD[:5]] * 4, "insufficient_data"),
    "short": ([SHORT] * 3 + [[2 * value for value in SHORT]] * 3, "below_resolution"),
}


@pytest.fixture(scope="module")
def farm():
    builds = Builds()
    for ordinal in range(1, 20):
        builds.store.add_build(f"b{ordinal}", ordinal=ordinal)
    for device, (levels, _) in CASES.items():
        for ordinal, values in enumerate(levels, start=1):
            builds.add_build(f"b{ordinal}", values, device=device)
    for build in ("b1", "b2"):
        builds.add_build(build, OLD, device="last build alone")
    builds.add_build("b3", _faster(OLD, 20), device="last build alone")
    for ordinal, (build, values) in enumerate({"d": OLD, "c": OLD, "b": NEW, "a": NEW}.items()):
        builds.store.add_build(build, ordinal=100 + ordinal)
        builds.add_build(build, values, device="order")
    return builds.connect()


@pytest.fixture(scope="module")
def row(farm):
    """The row of each case."""
    return {device: row for device, (row,) in run_by_device(farm, "change_points").items()}


def test_every_case_has_its_verdict(row):
    found = {case: row[case]["verdict"] for case in CASES}
    assert found == {case: verdict for case, (_, verdict) in CASES.items()}


def test_a_step_of_ten_per_cent_by_hand(row):
    before, after = OLD * 2, NEW * 2
    shift = median(math.log(b / a) for a in before for b in after)
    assert row["step"] == {
        "device": "step",
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
        "delta": pytest.approx(math.exp(shift) - 1, rel=1e-12),
        "p": pytest.approx(2 / math.comb(40, 20), rel=1e-6),
        "verdict": "regression",
    }


def test_p_is_that_of_the_exact_distribution(row):
    u = sum((b > a) + (b == a) / 2 for a in OLD for b in MIXED * 2)
    rarer = sum(_orders(10, 20, rank) for rank in range(math.ceil(min(u, 200 - u)) + 1))
    assert row["overlapping"]["p"] == pytest.approx(2 * rarer / math.comb(30, 10), rel=1e-6)
    assert math.erfc((16 * 12 / 2 - 0.5) / math.sqrt(2 * 16 * 12 * 29 / 12)) > 5e-6  # normal
    assert row["few dumps"]["p"] == pytest.approx(2 / math.comb(28, 12), rel=1e-6)
    assert row["same"]["p"] == 1
    assert 1e-6 < row["not sure"]["p"] <= 1e-4


@cache
def _orders(few, many, u):
    """How many orders of two samples give this U: the largest value is of one or of the other."""
    if u < 0 or few < 0 or many < 0:
        return 0
    if few == 0 or many == 0:
        return int(u == 0)
    return _orders(few - 1, many, u - many) + _orders(few, many - 1, u)


def test_a_change_is_of_the_build_that_brought_it(row):
    found = {case: (row[case]["last_good"], row[case]["first_bad"]) for case in row}
    assert found["few dumps"] == ("b2", "b3")
    assert found["faster"] == ("b5", "b6")
    assert found["gone"] == ("b6", "b7")
    assert found["order"] == ("c", "b")  # by ordinal, not by name
    assert found["last build alone"][1] != "b3"  # it waits for another
    assert [found[case][1] for case in ("same", "not sure")] == [None, None]


def test_a_change_is_measured_between_the_levels_before_and_after_it(row, farm):
    assert row["faster"]["delta"] == pytest.approx(-0.1, abs=1e-3)
    assert (row["same"]["delta"], row["not sure"]["delta"] > 0.03) == (None, True)
    assert (row["gone"]["before"], row["gone"]["now"]) == (median(OLD), median(OLD))
    far = row["far back"]  # of which the first build is not looked at
    assert (far["build_count"], far["p"]) == (19, 1)
    small = run_by_device(farm, "change_points", device="small", min_change=0.01)["small"]
    assert [one["verdict"] for one in small] == ["regression"]
