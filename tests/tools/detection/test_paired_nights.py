"""Trials of pairs measure what they say they measure."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tools.detection.paired_nights import simulate_pairs, try_levels, try_pairs
from tests.tools.detection.trials import FALSE, Extent, found_unit


def test_partners_share_the_night_and_the_moment_alone() -> None:
    rng = np.random.default_rng(1)
    own, pinned = simulate_pairs(0.2, families=4, nights=30, rng=rng)
    logs = np.log(own.values), np.log(pinned)
    assert np.std(logs[0] - logs[1], axis=2, ddof=1).mean() == pytest.approx(
        0.03 * 2**0.5, rel=0.05
    )
    assert np.std(logs[0], axis=2).mean() > 0.1


@pytest.mark.slow
def test_pairs_find_changes_hidden_by_correlated_nights() -> None:
    figures = try_pairs(Extent(calm=4, nights=40, changed=30))
    found = [by_unit[found_unit(1.05, 5)] for by_unit in figures.values()]
    assert all(by_unit[FALSE] <= 5 for by_unit in figures.values())
    alone, beside, paired = found[:3]
    assert alone < 20 < 55 < min(beside, paired)
    alone, beside, paired = found[3:]
    assert max(alone, beside) < 40 < 55 < paired


def test_p_of_pairs_is_no_smaller_than_it_should_be() -> None:
    for by_pairs in try_levels(20_000).values():
        assert max(by_pairs.values()) <= 2
