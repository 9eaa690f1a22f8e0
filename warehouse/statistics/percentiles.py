"""The one percentile rule: numpy's linear interpolation between order statistics. Pure.

The grouped median, for comparisons only, recovers precision lost to a coarse clock.

The p-quantile of n sorted samples lies at position (n - 1) * p; between two samples it is
interpolated. SQL's ``percentile_cont`` is the same rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def interpolate_sorted(rows: NDArray[np.generic], share: float) -> NDArray[np.float64]:
    """The quantile at `share` (0 to 1) of each row of sorted samples, at least one per row."""
    position = (rows.shape[1] - 1) * share
    low = int(position)
    high = min(low + 1, rows.shape[1] - 1)
    below, above = rows[:, low].astype(np.float64), rows[:, high].astype(np.float64)
    weight = position - low
    upper: NDArray[np.float64] = above - (above - below) * (1 - weight)
    lower: NDArray[np.float64] = below + (above - below) * weight
    return upper if weight >= 0.5 else lower


def grouped_median(rows: NDArray[np.integer[Any]], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """The grouped median of each row of sorted durations, at least one per row; 0 or more.

    Samples of one number of ticks are assumed to be spread evenly over the step, half of it to
    either side, so that the median moves when samples move from one count to the next. If half of
    the samples lie on each side between two counts, the result is the median itself.

    Args:
        rows: Durations in ticks.
        steps: Ticks by which the clock of each row counts.
    """
    size = rows.shape[1]
    middle, upper = rows[:, (size - 1) // 2], rows[:, size // 2]
    below = np.count_nonzero(rows < middle[:, None], axis=1)
    at = np.count_nonzero(rows <= middle[:, None], axis=1) - below
    value: NDArray[np.float64] = middle + steps * ((size / 2 - below) / at - 0.5)
    between = interpolate_sorted(rows, 0.5)
    return np.where(middle == upper, np.maximum(value, 0), between)
