"""The anytime-valid test is valid, and finds what it should."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tools.detection.evidence import detect_by_evidence, weigh_change
from tests.tools.detection.farms import NOISES, plant_changes, simulate_farm
from tests.tools.detection.scoring import find_planted


def test_likelihood_ratio_is_1_on_average_while_nothing_changes() -> None:
    rng = np.random.default_rng(1)
    ratios = [weigh_change(rng.normal(0, 1, 10), rng.normal(0, 1, 1))[0] for _ in range(4000)]
    assert np.mean(ratios) <= 1.3
    assert np.mean(np.array(ratios) >= 100) <= 0.01


def test_a_change_of_many_deviations_weighs_more_with_every_night() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.normal(0, 0.01, 16), rng.normal(0.05, 0.01, 3)
    ratios = [weigh_change(before, after[:nights])[0] for nights in (1, 2, 3)]
    assert ratios == sorted(ratios)
    assert ratios[-1] > 1e4
    assert weigh_change(before, after)[1] == pytest.approx(0.05, abs=0.02)


def test_planted_changes_are_found() -> None:
    rng = np.random.default_rng(3)
    calm = simulate_farm(NOISES[0], families=4, nights=30, rng=rng)
    farm = plant_changes(calm, 1.10, nights=range(16, 20), rng=rng)
    alarms = detect_by_evidence(farm)
    assert find_planted(alarms, farm.planted).share_within(5) == 1
    assert {alarm.series for alarm in alarms} == {change.series for change in farm.planted}
