"""The one percentile rule: numpy's linear interpolation between order statistics. Pure.

The grouped median, for comparisons only, recovers precision lost to a coarse clock.

The p-quantile of n sorted samples lies at position (n - 1) * p; between two samples it is
interpolated. SQL's ``percentile_cont`` is the same rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.clock_steps import ROUNDED_STEP


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


def grouped_median(rows: NDArray[np.integer[Any]], steps: NDArray[np.float64]) -> Floats:
    """The grouped median of each row of sorted durations, at least one per row; 0 or more.

    Samples of one number of steps are assumed to be spread evenly over the step, half of it to
    either side, so that the median moves when samples move from one count to the next. If half of
    the samples lie on each side between two counts, the result is the median itself.

    Args:
        rows: Durations in ticks.
        steps: Ticks by which the clock of each row counts. Durations by a clock of long steps that
            are a tick apart are of one count, which was rounded in two ways.
    """
    size = rows.shape[1]
    middle, upper = rows[:, (size - 1) // 2], rows[:, size // 2]
    rounded = (steps >= ROUNDED_STEP).astype(rows.dtype)
    lowest, highest = (middle - rounded)[:, None], (middle + rounded)[:, None]
    below = np.count_nonzero(rows < lowest, axis=1)
    at = np.count_nonzero(rows <= highest, axis=1) - below
    level = middle.astype(np.float64)
    if rounded.any():
        is_at = (rows >= lowest) & (rows <= highest)
        level += np.where(is_at, rows - middle[:, None], 0).sum(axis=1) / at
    value: Floats = level + steps * ((size / 2 - below) / at - 0.5)
    between = interpolate_sorted(rows, 0.5)
    return np.where(upper - middle <= rounded, np.maximum(value, 0), between)
