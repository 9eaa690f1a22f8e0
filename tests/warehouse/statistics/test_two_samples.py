from __future__ import annotations

import math
import re
from itertools import combinations, pairwise

import numpy as np
import pytest

from tests.support.documents import ROOT
from tracehouse.warehouse.regressions import pair_series, pair_verdicts
from tracehouse.warehouse.statistics import device_states, two_samples
from tracehouse.warehouse.statistics.two_samples import (
    centre_modes,
    compare_samples,
    interval_rank,
    least_p,
    row_median,
    share_p,
    two_sided_p,
)

NAN = math.nan
FAST = [0.001 * i for i in range(10)]
SLOW = [0.3 + 0.001 * i for i in range(10)]


def rows(*samples):
    """The samples as rows of one array, filled up with NaN."""
    filled = np.full((len(samples), max(1, *map(len, samples))), NAN)
    for row, sample in enumerate(samples):
        filled[row, : len(sample)] = sample
    return filled


def compare(base, head):
    """The comparison of a single pair, as plain values by name."""
    return {
        name: value[0] for name, value in compare_samples(rows(base), rows(head))._asdict().items()
    }


def one_p(base_count, head_count, u, ties):
    """p of one U."""
    pairs, total = base_count * head_count, base_count + head_count
    variance = pairs / 12 * (total + 1 - ties / (total * (total - 1)))
    (p,) = two_sided_p(*np.array([[base_count], [head_count], [u - pairs / 2], [variance]]))
    return p


def plain_u(base, head):
    return sum((h > b) + 0.5 * (h == b) for b in base for h in head)


def plain_exact_p(base, head):
    """Share of all ways to deal the values that are as far from the middle as this one."""
    pooled, middle = [*base, *head], len(base) * len(head) / 2
    seen = abs(plain_u(base, head) - middle)
    dealt = [[pooled[i] for i in chosen] for chosen in combinations(range(len(pooled)), len(head))]
    far = [abs(plain_u([v for v in pooled if v not in own], own) - middle) >= seen for own in dealt]
    return sum(far) / len(far)


def plain_normal_p(base, head):
    n, m, pooled = len(base), len(head), [*base, *head]
    total = n + m
    ties = sum(pooled.count(v) ** 3 - pooled.count(v) for v in set(pooled))
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    z = max(abs(plain_u(base, head) - n * m / 2) - 0.5, 0) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (6, 3)])
def test_p_is_the_share_of_deals_that_are_as_far_apart(n, m, seed):
    generator = np.random.default_rng(seed)
    values = generator.permutation(n + m) * 0.01
    base, head = np.sort(values[:n]), np.sort(values[n:])
    expected = plain_exact_p(base.tolist(), head.tolist())
    p = compare(base, head)["p"]
    if expected <= 0.2:
        assert p == pytest.approx(expected, rel=1e-12)
    else:
        assert p >= 0.2


@pytest.mark.parametrize(("n", "m"), [(31, 12), (40, 40), (8, 50)])
def test_large_samples_take_the_normal_p_with_ties_counted(n, m):
    generator = np.random.default_rng(n)
    base = generator.integers(0, 12, n) * 0.004
    head = generator.integers(1, 13, m) * 0.004
    expected = plain_normal_p(base.tolist(), head.tolist())
    assert compare(base, head)["p"] == pytest.approx(expected, rel=1e-9)


def test_p_of_a_tie_is_rounded_to_the_larger_value():
    exact = [one_p(6, 6, u, 0) for u in (3, 4)]
    assert one_p(6, 6, 3.5, 6) == exact[1] > exact[0]
    assert one_p(6, 6, 36 - 3.5, 6) == exact[1]


def test_equal_values_have_p_of_1_and_no_shift():
    same = compare([0.5] * 9, [0.5] * 9)
    assert (same["p"], same["shift"], same["low"], same["high"]) == (1, 0, 0, 0)
    assert one_p(40, 40, 800, 80**3 - 80) == 1


@pytest.mark.parametrize(("base", "head"), [([], [1.0]), ([1.0], []), ([], [])])
def test_a_comparison_with_values_on_one_side_only_has_no_figures(base, head):
    found = compare(base, head)
    assert found["p"] == 1
    assert all(math.isnan(found[name]) for name in ("shift", "low", "high"))
    assert not found["is_centred"]


@pytest.mark.parametrize("seed", range(6))
def test_shift_is_the_median_of_all_differences(seed):
    generator = np.random.default_rng(seed)
    base = generator.integers(0, 9, 7) * 0.01
    head = generator.integers(2, 12, 4 + seed) * 0.01
    expected = np.median([h - b for b in base for h in head])
    assert compare(base, head)["shift"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_interval_holds_the_shifts_that_the_test_does_not_refuse(seed):
    generator = np.random.default_rng(seed)
    base, head = generator.normal(0, 0.01, 8), generator.normal(0.02, 0.01, 9)
    found = compare(base, head)
    differences = sorted(h - b for b in base for h in head)
    accepted = [
        shift
        for low, high in pairwise(differences)
        if one_p(8, 9, plain_u(base, head - (shift := (low + high) / 2)), 0) > 0.01
    ]
    assert found["low"] <= min(accepted) <= max(accepted) <= found["high"]
    for outside in (found["low"] - 1e-9, found["high"] + 1e-9):
        assert one_p(8, 9, plain_u(base, head - outside), 0) <= 0.01


def test_an_interval_wants_as_many_values_as_99_percent_take():
    assert interval_rank(4, 4) == 0  # the least p is 1/35
    assert interval_rank(5, 5) == 1  # 2/252, and the next is 4/252
    assert interval_rank(0, 9) == interval_rank(9, 0) == 0
    assert interval_rank(31, 31) > interval_rank(30, 30) > 0
    found = compare([0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.3])
    assert math.isnan(found["low"])
    assert math.isnan(found["high"])


def test_a_significant_difference_has_an_interval_without_zero():
    for n, m in ((5, 5), (8, 8), (30, 30), (31, 9), (60, 10)):
        base = np.linspace(0, 0.01, n)
        found = compare(base, np.linspace(0.02, 0.03, m))
        assert found["p"] <= 0.01
        assert 0 < found["low"] <= found["shift"] <= found["high"]


def test_least_p_is_that_of_samples_wholly_apart():
    sizes = (3, 3), (5, 5), (7, 9), (3, 3), (8, 40)
    found = least_p(*np.array(sizes).T)
    assert found == pytest.approx([one_p(n, m, 0, 0) for n, m in sizes])


def test_each_pair_is_compared_by_itself_however_many_there_are(monkeypatch):
    generator = np.random.default_rng(3)
    base, head = generator.normal(0, 1, (50, 9)), generator.normal(0, 1, (50, 7))
    base[generator.random(base.shape) < 0.2] = NAN
    whole = compare_samples(base, head)
    monkeypatch.setattr("tracehouse.warehouse.statistics.two_samples._PAIRS_AT_ONCE", 200)
    for one, other in zip(whole, compare_samples(base, head), strict=True):
        np.testing.assert_array_equal(one, other)
    single = compare(base[7][~np.isnan(base[7])], head[7])
    assert single["p"] == whole.p[7]
    assert single["shift"] == whole.shift[7]


def test_a_value_is_compared_with_its_own_mode():
    base = [*FAST[:5], *SLOW[:5]]
    head = [value + 0.05 for value in [*FAST[:2], *SLOW[:8]]]
    found = compare(base, head)
    assert found["is_centred"]
    assert (found["base_slow"], found["head_slow"]) == (0.5, 0.8)
    assert found["shift"] == pytest.approx(0.05, abs=0.004)
    assert found["p"] < 0.001
    plain = np.median([h - b for b in base for h in head])
    assert plain > 0.05  # most are in the slow mode, and none is in the fast one


def test_more_slow_processes_are_no_shift_of_either_mode():
    found = compare([*FAST[:6], *SLOW[:4]], [*FAST[:3], *SLOW[:7]])
    assert found["is_centred"]
    assert found["p"] > 0.2
    assert abs(found["shift"]) < 0.003


def test_a_sample_that_surely_went_to_another_mode_has_moved():
    found = compare([*FAST, *FAST, *SLOW[:6]], SLOW)
    assert not found["is_centred"]
    assert found["p"] < 0.001
    assert found["shift"] > 0.25
    assert found["head_slow"] == 1


def test_a_second_mode_that_only_the_head_has_is_told_apart_too():
    base, head = FAST[:10], [*FAST[:5], *SLOW[:5]]
    found, swapped = compare(base, head), compare(head, base)
    assert found["is_centred"]
    assert swapped["is_centred"]
    assert abs(found["shift"]) < 0.005
    assert found["shift"] == pytest.approx(-swapped["shift"], abs=1e-12)
    assert found["share_p"] == swapped["share_p"] < 0.05


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([*FAST, *[v + 0.06 for v in FAST]], [*FAST, *[v + 0.06 for v in FAST]]),  # 0.08 is wanted
        ([0.04 * i for i in range(20)], [0.04 * i + 0.1 * (i > 9) for i in range(20)]),  # 8 gaps
        ([*FAST, 0.3], [*FAST, 0.3]),  # 8 % at either end is left out
        ([*FAST, *FAST[:8], *SLOW[:2]], [*FAST, *FAST, *SLOW[:3]]),  # 15 % of either is wanted
        (FAST, SLOW),  # each knows one mode alone
        ([*FAST[:8], *SLOW[:2]], [*FAST[:2], *SLOW[:8]]),  # nearly all went to the other mode
    ],
)
def test_samples_without_a_second_mode_are_not_centred(base, head):
    modes = centre_modes(rows(base), rows(head))
    assert not modes.is_centred[0]
    np.testing.assert_array_equal(modes.base, rows(base))
    np.testing.assert_array_equal(modes.head, rows(head))


def plain_fisher(base_count, head_count, base_slow, head_slow):
    total, slow = base_count + head_count, base_slow + head_slow

    def chance(n):
        in_base = slow - n
        if not 0 <= in_base <= base_count or not 0 <= n <= head_count:
            return 0
        return math.comb(base_count, in_base) * math.comb(head_count, n) / math.comb(total, slow)

    seen = chance(head_slow)
    return sum(c for n in range(slow + 1) if (c := chance(n)) <= seen * (1 + 1e-12))


@pytest.mark.parametrize(
    "table",
    [(10, 10, 0, 10), (8, 5, 3, 4), (20, 7, 1, 0), (6, 6, 6, 6), (5, 5, 0, 0), (9, 2, 4, 2)],
)
def test_share_p_is_fishers(table):
    assert share_p(*table) == pytest.approx(plain_fisher(*table), rel=1e-12)


def test_row_median_leaves_out_what_is_not_there():
    found = row_median(np.array([[3, NAN, 1], [NAN, NAN, NAN], [1, 2, 3.0], [NAN, 5, NAN]]))
    np.testing.assert_array_equal(found, [2, NAN, 2, 5])
    assert np.isnan(row_median(np.empty((2, 0)))).all()


def test_the_documented_numbers_are_those_of_the_code():
    text = (ROOT / "docs" / "nightly-rule.md").read_text(encoding="utf-8")
    table = text.split("| number of the comparison |")[1].split("\n\n")[0]
    shown = dict(re.findall(r"\n\| ([^|`-]+) \| ([\d., ]+) \|", table))
    known = {
        "fewest dumps of either build": two_samples.LEAST_DUMPS,
        "fewest pairs of dumps": two_samples.LEAST_PAIRS,
        "confidence of intervals": 1 - two_samples.CONFIDENCE_P,
        "largest samples whose p is exact": two_samples.EXACT_SIZE,
        "narrowest gap between two modes, in log time": two_samples.LEAST_GAP,
        "gap between modes over the median gap": two_samples.GAP_RATIO,
        "share of values left out at either end of a gap": two_samples.LEFT_OUT,
        "share of a sample in each of its modes": two_samples.LEAST_SHARE,
        "slow share from which nearly all of the base are fast, the head slow": (
            two_samples.FEW,
            two_samples.MOST,
        ),
        "operators needed to estimate a state": device_states.LEAST_OPERATORS,
        "largest vote of an operator": round(device_states.OPERATOR_SHARE, 4),
        "largest vote of an operator type": round(device_states.TYPE_SHARE, 4),
        "least spread of an operator that votes": device_states.LEAST_SPREAD,
        "what a state adds to the smallest change between two builds": pair_verdicts.STATE_DOUBT,
        "times the scatter of the other operators, between two builds": (
            pair_verdicts.SCATTER_RATIO
        ),
        "shift of the state below which a device was steady, between two builds": (
            pair_series.LEAST_MOVE
        ),
    }
    assert {name: tuple(map(float, value.split(", "))) for name, value in shown.items()} == {
        name: value if isinstance(value, tuple) else (value,) for name, value in known.items()
    }
