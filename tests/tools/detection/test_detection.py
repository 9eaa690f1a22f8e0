"""Trials of detection measure what they say they measure."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.cross_section import cross_section
from tests.tools.detection.agreement import try_command_line
from tests.tools.detection.detectors import Alarm, detect_nightly
from tests.tools.detection.farms import NOISES, PlantedChange, plant_changes, simulate_farm
from tests.tools.detection.peers import PeerAlarm, keep_first
from tests.tools.detection.pools import ELSEWHERE, POOL_FALSE, try_pools
from tests.tools.detection.scoring import NEVER, alarmed_share, find_planted
from tests.tools.detection.trials import try_one_cause

SEED = 3


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.title)
def test_a_farm_is_the_same_for_a_seed_and_every_dump_has_a_time(noise):
    farms = [
        simulate_farm(noise, families=2, nights=3, rng=np.random.default_rng(SEED))
        for _ in range(2)
    ]
    assert farms[0].values.shape == (24, 3, 10)
    assert (farms[0].values > 0).all()
    assert np.array_equal(farms[0].values, farms[1].values)


def test_planting_changes_one_series_of_each_family_from_one_night_on():
    rng = np.random.default_rng(SEED)
    calm = simulate_farm(NOISES[0], families=3, nights=8, rng=rng)
    farm = plant_changes(calm, 1.05, nights=range(2, 5), rng=rng)
    expected = np.ones(calm.values.shape)
    for change in farm.planted:
        assert 2 <= change.first_bad < 5
        expected[change.series, change.first_bad :] = 1.05
    assert farm.family[[change.series for change in farm.planted]].tolist() == [0, 1, 2]
    assert np.allclose(farm.values / calm.values, expected)


def test_simulated_nights_are_correlated_by_about_one_half():
    noise = next(noise for noise in NOISES if noise.night == 0.03)
    farm = simulate_farm(noise, families=20, nights=90, rng=np.random.default_rng(SEED))
    levels = np.log(farm.values).mean(axis=2)
    levels -= levels.mean(axis=1, keepdims=True)
    likeness = (levels[:, 1:] * levels[:, :-1]).mean() / (levels**2).mean()
    assert likeness == pytest.approx(0.44, abs=0.05)  # 0.5, less the dumps' own noise


def test_a_change_counts_as_found_by_an_alarm_of_its_series_and_direction_near_it():
    planted = [PlantedChange(series, 10, 1.05) for series in range(6)]
    alarms = [
        Alarm(0, 11, 10, 1),  # right, in its second build
        Alarm(1, 14, 12, 1),  # near, in its fifth
        Alarm(2, 12, 10, -1),  # another direction
        Alarm(3, 16, 13, 1),  # not near
        Alarm(4, 9, 9, 1),  # before
    ]
    found = find_planted(alarms, planted)
    assert found.builds == [2, 5, NEVER, NEVER, NEVER, NEVER]
    assert [found.share_within(n) for n in (1, 2, 5)] == [0, 1 / 6, 2 / 6]
    assert found.right_share == 1 / 2
    assert alarmed_share([*alarms, Alarm(0, 20, 20, 1)], 10) == 5 / 10


def test_a_build_named_night_after_night_is_one_alarm():
    named = [
        PeerAlarm(0, 12, 10, 1),
        PeerAlarm(0, 13, 10, 1),
        PeerAlarm(0, 14, 12, 1),  # wandered
        PeerAlarm(0, 20, 17, 1),
        PeerAlarm(0, 20, 10, -1),
        PeerAlarm(1, 20, 10, 1),
    ]
    assert keep_first(named) == [
        Alarm(0, 12, 10, 1),
        Alarm(0, 20, 10, -1),
        Alarm(0, 20, 17, 1),
        Alarm(1, 20, 10, 1),
    ]


def test_alarms_do_not_depend_on_later_nights():
    rng = np.random.default_rng(SEED)
    calm = simulate_farm(NOISES[3], families=4, nights=30, rng=rng)
    farm = plant_changes(calm, 1.10, nights=range(12, 18), rng=rng)
    before = detect_nightly(farm._replace(values=farm.values[:, :24]))
    said = [alarm for alarm in detect_nightly(farm) if alarm.night < 24]
    assert before
    assert said == before


def test_one_cause_on_40_devices_is_one_alert_with_the_right_first_bad_build():
    assert try_one_cause(40, SEED)["one cause, 40 devices"] == {
        "alert groups": 1,
        "with the right first bad build": 1,
        "devices in the largest": 40,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", cross_section([(NOISES[0],), (NOISES[7],)], 2), ids=lambda noise: noise.title
)
def test_a_slowdown_common_to_the_devices_of_a_pool_is_found_where_few_devices_show_it(noise):
    (figures,) = try_pools(noise, SEED, pools=2, nights=40).values()
    assert figures[POOL_FALSE] == 0
    assert figures["+4 % within 2, %"] == 100
    assert figures["by devices alone within 2, %"] < 90
    assert figures[ELSEWHERE] == 0


@pytest.mark.slow
def test_reports_of_real_dumps_say_what_the_rule_says_of_the_arrays(tmp_path):
    figures = try_command_line(tmp_path, SEED)["real dumps through the command line"]
    assert figures["that agree"] == figures["reports"] == 6
    assert figures["alerts in them"] > 0
