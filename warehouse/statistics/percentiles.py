"""The one percentile rule: numpy's linear interpolation between order statistics. Pure.

The p-quantile of n sorted samples lies at position (n - 1) * p; between two samples it is
interpolated. SQL's ``percentile_cont`` is the same rule.
"""

from __future__ import annotations

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
