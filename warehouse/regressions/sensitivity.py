"""The smallest change of each series that a night would show, which a green night rules out."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from tracehouse.warehouse.regressions.history import SeriesHistory
from tracehouse.warehouse.regressions.nightly import Rules, Status
from tracehouse.warehouse.regressions.replay import Replay
from tracehouse.warehouse.statistics.arrays import Floats, Ints

_RANK_EFFICIENCY = 1.05  # ratio of the standard errors of a Mann-Whitney test and a t test


def smallest_changes(history: SeriesHistory, found: Replay, rules: Rules) -> Floats:
    """The smallest change of each series that the last night would show, a logarithm.

    This is the largest of three limits, from the conditions of a hit: the smallest relevant change,
    the gate times the usual error of builds, and the limit of the test for the number and spread of
    the dumps. A series whose movement was explained by the shift of its family hides at least that
    movement. Infinite if the series was not judged.
    """
    night, base = found.night, found.night.base
    judged = night.status >= Status.UNCHANGED
    head = np.maximum(found.cells.dump_count[:, -1], 1)
    family = history.series.family
    rivals = np.bincount(family[judged], minlength=history.family_count)[family]
    least = np.maximum(
        np.log1p(history.series.min_change), np.log1p(history.series.half_tick / np.exp(base.raw))
    )
    per_dump = np.sqrt(1 / head + 1 / np.maximum(base.dumps, 1)) * base.dump_spread
    by_test = _RANK_EFFICIENCY * _quantiles(rules.q, rivals) * per_dump
    smallest = np.fmax(np.fmax(least, by_test), rules.gate * base.error)
    moved = np.abs(found.cells.median[:, -1] - base.raw)
    explained = night.status == Status.EXPLAINED_BY_RUN_SHIFT
    smallest = np.where(explained, np.fmax(smallest, moved), smallest)
    is_known = judged & ~np.isnan(base.error)
    return np.where(is_known, smallest, np.inf)


def _quantiles(q: float, tests: Ints) -> Floats:
    """Least significant difference in standard errors, for each number of tests."""
    counts, place = np.unique(np.maximum(tests, 1), return_inverse=True)
    wanted = [-NormalDist().inv_cdf(q / 2 / count) for count in counts.tolist()]
    return np.array(wanted)[place]
