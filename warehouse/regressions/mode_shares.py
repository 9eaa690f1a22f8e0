"""Operators that processes run in one of two modes, and the share of the slow ones. Pure.

A night alone rarely shows that another share of processes is slow; nights together do. Shares of
nights differ by more than chance would have it, as modes come in clusters: how much more is taken
from the nights before, and from what is usual where those are few.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from warehouse.regressions.history import SeriesHistory
from warehouse.statistics.arrays import Ints

WATCHED_P = 0.05  # from which a night's share is watched
CONFIRMED_P = 5e-5  # of all nights since the suspicion
_USUAL_DISPERSION = 2.0  # variance of nights' shares over what chance makes of them
_USUAL_NIGHTS = 4  # that the usual dispersion counts like


class Modes(NamedTuple):
    """The two modes of a series.

    Attributes:
        split: Values above it are slow; raw or residual as those of the change.
        gap: How far the slow mode is from the fast one, a logarithm.
    """

    split: float
    gap: float


class ShareChange(NamedTuple):
    """How the share of slow dumps of some nights differs from that of a base.

    Attributes:
        base: Share of the base.
        head: Share of the nights.
        last: Share of the last of them.
        moved: What the change of the share does to the mean, a logarithm.
        p: Two-sided p, the clusters of the base's nights considered.
    """

    base: float
    head: float
    last: float
    moved: float
    p: float


def count_slow(
    history: SeriesHistory, reaction: float, series: int, nights: Ints, split: float
) -> tuple[Ints, Ints]:
    """Dumps of a series in each night, and how many are slow.

    `reaction` times the state of its dump is taken from each value.
    """
    cells = series * history.build_count + nights
    places = [slice(*history.start[cell : cell + 2].tolist()) for cell in cells.tolist()]
    values = [history.values[each] - reaction * history.states[each] for each in places]
    dumps = np.array([len(each) for each in values], np.int64)
    slow = np.array([np.count_nonzero(each > split) for each in values], np.int64)
    return dumps, slow


def compare_shares(
    base: tuple[Ints, Ints], head: tuple[Ints, Ints], before: tuple[Ints, Ints], gap: float
) -> ShareChange:
    """Compare nights with those of a base: each the dumps of every night and the slow ones.

    Args:
        base: Nights of the base.
        head: The nights.
        before: All recent nights before them, whose shares show how far nights usually differ.
        gap: Between the modes, a logarithm.
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
    """Variance of nights' shares over what chance makes of them; its degrees of freedom."""
    dumps, slow = dumps[dumps > 0], slow[dumps > 0]
    share = slow.sum() / dumps.sum()
    squares = (slow - dumps * share) ** 2 / (dumps * share * (1 - share)) if 0 < share < 1 else 0
    freedom = len(dumps) - 1 + _USUAL_NIGHTS
    seen = float(np.sum(squares)) + _USUAL_NIGHTS * _USUAL_DISPERSION
    return max(1.0, seen / freedom), freedom


def _t_test(distance: float, freedom: int) -> float:
    """Two-sided p of Student's t, after Wallace (1959): within a tenth of it down to 1e-5."""
    normal = math.sqrt(freedom * math.log1p(distance**2 / freedom))
    return math.erfc((8 * freedom + 1) / (8 * freedom + 3) * normal / math.sqrt(2))
