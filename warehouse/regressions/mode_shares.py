"""Operators with a fast and a slow mode per process, and the share of slow processes. Pure.

A single night rarely shows a change of this share; several nights do. Shares of nights differ by
more than chance, because modes occur in clusters. How much more is estimated from earlier nights,
or from the usual value if those are few.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from warehouse.regressions.history import SeriesHistory, subtract_states
from warehouse.statistics.arrays import Ints

WATCHED_P = 0.05  # a night's share is watched below this p
CONFIRMED_P = 5e-5  # p of all nights since the suspicion
_USUAL_DISPERSION = 2.0  # variance of nights' shares, relative to that by chance
_USUAL_NIGHTS = 4  # weight of the usual dispersion, in nights


class Modes(NamedTuple):
    """The two modes of a series.

    Attributes:
        split: Larger values are slow; raw or residual, like those of the change.
        gap: Distance of the slow mode from the fast one, a logarithm.
    """

    split: float
    gap: float


class ShareChange(NamedTuple):
    """The change of the share of slow dumps from a base to some nights.

    Attributes:
        base: Share of the base.
        head: Share of the nights.
        last: Share of the last night.
        moved: Resulting change of the mean, a logarithm.
        p: Two-sided p that accounts for clusters in the base's nights.
    """

    base: float
    head: float
    last: float
    moved: float
    p: float


def count_slow(
    history: SeriesHistory, reaction: float, series: int, nights: Ints, split: float
) -> tuple[Ints, Ints]:
    """Number of dumps of a series in each night, and number of slow ones.

    `reaction` times the state of the dump is subtracted from each value.
    """
    cells = series * history.build_count + nights
    places = [slice(*history.start[cell : cell + 2].tolist()) for cell in cells.tolist()]
    values = [subtract_states(history, each, reaction) for each in places]
    dumps = np.array([len(each) for each in values], np.int64)
    slow = np.array([np.count_nonzero(each > split) for each in values], np.int64)
    return dumps, slow


def compare_shares(
    base: tuple[Ints, Ints], head: tuple[Ints, Ints], before: tuple[Ints, Ints], gap: float
) -> ShareChange:
    """Compare nights with those of a base; each argument counts dumps and slow dumps per night.

    Args:
        base: Nights of the base.
        head: The nights.
        before: All recent earlier nights, whose shares show how much nights usually differ.
        gap: Distance of the modes, a logarithm.
    """
    (old_dumps, old_slow), (new_dumps, new_slow) = base, head
    n1, n2 = int(old_dumps.sum()), int(new_dumps.sum())
    was, now = old_slow.sum() / n1, new_slow.sum() / n2
    pooled = (old_slow.sum() + new_slow.sum()) / (n1 + n2)
    dispersion, freedom = _dispersion(*before)
    variance = pooled * (1 - pooled) * (1 / n1 + 1 / n2) * dispersion
    distance = abs(now - was) / math.sqrt(variance) if variance > 0 else 0.0
    last = new_slow[-1] / new_dumps[-1]
    moved = (now - was) * gap
    return ShareChange(
        float(was), float(now), float(last), float(moved), _t_test(distance, freedom)
    )


def _dispersion(dumps: Ints, slow: Ints) -> tuple[float, int]:
    """Variance of nights' shares, relative to that by chance; and its degrees of freedom."""
    dumps, slow = dumps[dumps > 0], slow[dumps > 0]
    share = slow.sum() / dumps.sum()
    squares = (slow - dumps * share) ** 2 / (dumps * share * (1 - share)) if 0 < share < 1 else 0
    freedom = len(dumps) - 1 + _USUAL_NIGHTS
    seen = float(np.sum(squares)) + _USUAL_NIGHTS * _USUAL_DISPERSION
    return max(1.0, seen / freedom), freedom


def _t_test(distance: float, freedom: int) -> float:
    """Two-sided p of Student's t, after Wallace (1959); accurate to 10 % down to 1e-5."""
    normal = math.sqrt(freedom * math.log1p(distance**2 / freedom))
    return math.erfc((8 * freedom + 1) / (8 * freedom + 3) * normal / math.sqrt(2))
