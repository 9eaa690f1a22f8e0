import math

import numpy as np
import pytest

from tracehouse.warehouse.statistics.variance_components import (
    FACTORS,
    find_detectable,
    split_variance,
)


def _dumps(**levels):
    """Numbers of each factor for a design: how many values each factor takes in the one before."""
    rows = [[]]
    for factor in FACTORS[:-1]:
        rows = [[*row, value] for row in rows for value in range(levels.get(factor, 1))]
    return np.array([row for row in rows for _ in range(levels["process"])])


def _simulate(groups, rng, **deviations):
    logs = np.zeros(len(groups))
    for place, factor in enumerate(FACTORS[:-1]):
        _, number = np.unique(groups[:, : place + 1], axis=0, return_inverse=True)
        effects = rng.normal(0, deviations.get(factor, 0), number.max() + 1)
        logs += effects[number.ravel()]
    return logs + rng.normal(0, deviations["process"], len(groups))


def test_two_sessions_by_hand():
    groups = _dumps(session=2, process=2)
    found = dict(zip(FACTORS, split_variance(np.array([1.0, 3.0, 7.0, 9.0]), groups), strict=True))
    assert found["process"] == pytest.approx(2)  # (1 + 1 + 1 + 1) / 2
    # The mean square of the sessions, 4 * 3 ** 2 / 1, is expected to be 2 + 2 * their variance.
    assert found["session"] == pytest.approx((36 - 2) / 2)
    assert all(math.isnan(found[name]) for name in FACTORS if name not in ("process", "session"))


def test_estimated_components_match_the_simulated_ones():
    rng = np.random.default_rng(1)
    made = {"device": 0.1, "temperature": 0.05, "session": 0.03, "build": 0.02, "process": 0.01}
    whole = _dumps(device=6, temperature=3, session=4, build=2, process=10)
    found = []
    for _ in range(30):
        groups = whole[np.sort(rng.permutation(len(whole))[: len(whole) * 2 // 3])]  # unbalanced
        found.append(split_variance(_simulate(groups, rng, **made), groups))
    deviations = np.sqrt(np.mean(found, axis=0))
    for name, deviation in zip(FACTORS, deviations, strict=True):
        if name in made:
            assert deviation == pytest.approx(made[name], rel=0.15)
        else:
            assert math.isnan(deviation)


def test_variance_components_are_not_invented_and_never_negative():
    rng = np.random.default_rng(2)
    groups = _dumps(device=4, session=5, process=8)
    found = split_variance(_simulate(groups, rng, process=0.02), groups)
    assert np.nanmin(found) >= 0
    assert found[-1] == pytest.approx(0.02**2, rel=0.2)
    assert np.nansum(found[:-1]) < 0.2 * found[-1]
    assert np.nansum(split_variance(np.full(len(groups), 5.0), groups)) == 0


def test_detectable_changes_match_a_calculation_by_hand():
    variances = np.array([np.nan, np.nan, np.nan, 0.0001, 0.0003, np.nan, 0.001])
    groups = _dumps(device=4, session=2, process=10)
    found = find_detectable(variances, groups)
    z = 2.5758 + 1.2816
    assert found.now == pytest.approx(z * math.sqrt(2 * (0.0004 + 0.0001)), rel=1e-4)
    assert found.more_dumps == pytest.approx(z * math.sqrt(2 * (0.0004 + 0.00005)), rel=1e-4)
    assert found.more_sessions == pytest.approx(found.now / math.sqrt(2))
    assert found.pairs == pytest.approx(z * math.sqrt(2 * 0.0001), rel=1e-4)
    assert found.pool == pytest.approx(found.now / 2)


def test_one_session_gives_only_the_detectable_change_of_pairs():
    groups = _dumps(build=2, process=10)
    found = find_detectable(split_variance(np.linspace(0, 0.1, 20), groups), groups)
    assert found.pairs > 0
    assert all(math.isnan(each) for each in found if each is not found.pairs)


@pytest.mark.parametrize("dumps", [10, 20])
def test_a_detectable_change_is_found_in_nine_of_ten_cases(dumps):
    rng = np.random.default_rng(dumps)
    groups = _dumps(session=1, process=dumps)
    variances = np.array([np.nan] * 4 + [0.0, np.nan, 0.03**2])
    change = find_detectable(variances, groups).now
    base, head = rng.normal(0, 0.03, (2, 20_000, dumps)).mean(axis=2)
    error = math.sqrt(2 / dumps) * 0.03
    assert np.mean(head + change - base > 2.5758 * error) == pytest.approx(0.9, abs=0.01)
