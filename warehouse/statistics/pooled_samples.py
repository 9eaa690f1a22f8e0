"""Combined comparisons on several devices: the stratified Mann-Whitney test. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.two_samples import INTERVAL_Z, normal_p

_LEAST_ERROR = 0.001  # of a device's shift, as a share; limits its weight


class PooledComparison(NamedTuple):
    """Combined comparisons, one per row; see `SampleComparison`."""

    p: Floats
    excess: Floats
    variance: Floats
    shift: Floats
    low: Floats
    high: Floats


def pool_samples(
    excess: Floats, variance: Floats, shift: Floats, low: Floats, high: Floats
) -> PooledComparison:
    """Combine the comparisons of each row, without NaN; all of shape (pools, devices).

    Mann-Whitney's U and its variance are summed (van Elteren). The shift is the mean of the shifts,
    weighted by the inverse of the squared error, which is at least 0.1 %.
    """
    weight = np.maximum((high - low) / 2 / INTERVAL_Z, _LEAST_ERROR) ** -2
    total = _sum(weight)
    sums = _sum(excess), _sum(variance)
    mean, width = _sum(shift * weight) / total, INTERVAL_Z / np.sqrt(total)
    return PooledComparison(normal_p(*sums), *sums, mean, mean - width, mean + width)


def _sum(rows: Floats) -> Floats:
    """The sum of each row, independent of the order of its values."""
    total: Floats = np.nansum(np.sort(rows, axis=1), axis=1)
    return total
