"""Numbers of dumps and detectable changes, by the tests of `two_samples`. Pure."""

from __future__ import annotations

import math

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.two_samples import interval_rank

LEAST_DUMPS = 8  # of each build, for a comparison of two builds
LEAST_PAIRS = 8  # of dumps, for a comparison by their differences
_MOST_DUMPS = 30


def find_smallest_changes(values: Floats) -> Floats:
    """The change that as many dumps on either side could show, per row of logarithms.

    The result is the upper end of the 99 % interval of a comparison with dumps of the same kind:
    its rank among the differences of two samples, applied to those within one. NaN with too few
    values.
    """
    count = np.count_nonzero(~np.isnan(values), axis=1)
    changes = np.full(len(values), np.nan)
    for n in np.unique(count).tolist():
        rank = interval_rank(n, n)
        if rank:
            rows = np.flatnonzero(count == n)
            own = np.sort(values[rows], axis=1)[:, :n]
            others = ~np.eye(n, dtype=bool)
            place = math.ceil((1 - (rank - 0.5) / n**2) * n * (n - 1))
            for row, each in zip(rows.tolist(), own, strict=True):
                differences = (each[:, None] - each[None, :])[others]
                changes[row] = np.partition(differences, place - 1)[place - 1]
    return changes


def find_needed_dumps(p: Floats) -> Floats:
    """The least dumps on either side, 8 to 30, that can give each p; NaN if none can."""
    sizes = np.arange(LEAST_DUMPS, _MOST_DUMPS + 1)
    least = np.array([2 / math.comb(2 * n, n) for n in sizes.tolist()])
    place = np.count_nonzero(least[None, :] > p[:, None], axis=1)
    needed: Floats = np.where(place < len(sizes), place + float(LEAST_DUMPS), np.nan)
    return needed
