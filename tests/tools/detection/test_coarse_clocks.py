"""What a dump says of an operator timed in whole microseconds is measured as it claims."""

from __future__ import annotations

import numpy as np
import pytest

from ingest.sample.copying import copy_sample
from tests.tools.detection.coarse_clocks import (
    ESTIMATES,
    NOISES,
    measure_precision,
    pair_builds,
    read_farm,
    spread_ties,
)

PLAIN, _, OUTLIERS, _ = NOISES
CENSORED = ESTIMATES["censored, Student t3"]
GROUPED = ESTIMATES["grouped median"]


def measure(name, level_us, spread, noise=PLAIN):
    return measure_precision(ESTIMATES[name], level_us, spread, noise, dumps=60, seed=5)


def test_what_was_counted_alike_is_spread_over_its_microsecond():
    assert spread_ties(np.array([[4, 3, 3, 9]])).tolist() == [[3.25, 3.75, 4.5, 9.5]]


@pytest.mark.parametrize("name", ESTIMATES)
def test_only_the_grouped_median_is_half_a_microsecond_low(name):
    bias = measure(name, 19.6, 0.1).bias
    expected = -0.5 / 19.6 if name == "grouped median" else 0
    assert bias == pytest.approx(expected, abs=0.006)


def test_likelihood_tells_more_than_the_grouped_median_where_iterations_hardly_differ():
    counts = np.repeat([[5, 6]], [40, 5], axis=1)  # near 6, or both would be there more often
    assert GROUPED(counts)[0] == pytest.approx(5.0625)
    assert 5.6 < CENSORED(counts)[0] < 6
    names = "censored, Student t3", "grouped median"
    censored, grouped = (measure(name, 5.1, 0.03) for name in names)
    assert censored.separation > 1.3 * grouped.separation


def test_outliers_in_a_tenth_of_the_iterations_hide_a_change_from_a_trimmed_mean_alone():
    found = {name: measure(name, 19.6, 0.03, OUTLIERS).separation for name in ESTIMATES}
    assert found.pop("10 % trimmed mean") < 1.5
    assert min(found.values()) > 3


@pytest.mark.slow
def test_the_grouped_median_finds_changes_of_real_builds_and_none_where_nothing_changed(tmp_path):
    copy_sample(tmp_path)
    pairs = list(pair_builds(read_farm(tmp_path), GROUPED))
    found = {pair.where: pair.count_changes()[0] for pair in pairs}
    assert {where: hits for where, hits in found.items() if hits} == {
        "lab-x86-quiet-ab conv base..ch26": 1,
        "lab-x86-quiet-ab txf base..f136": 2,
    }
    assert len(found) > 2
