"""How steady samples are that were taken one after another. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.rollups import interpolate_sorted


class Steadiness(NamedTuple):
    """Figures of samples, one per row; the shares are NaN where their divisor is 0.

    Attributes:
        typical: Median.
        cv: Standard deviation over mean; NaN for one sample.
        iqr_share: The 75th less the 25th percentile over the median.
        p99_over_p50: The 99th percentile over the median.
        max_over_min: Highest over lowest.
        drift: The median of the last third over that of the first third, less 1; NaN for fewer
            than three samples.
    """

    typical: Floats
    cv: Floats
    iqr_share: Floats
    p99_over_p50: Floats
    max_over_min: Floats
    drift: Floats


def find_steadiness(samples: Floats) -> Steadiness:
    """The steadiness of each row of samples, at least one per row, 0 or more, in order of time."""
    ordered = np.sort(samples, axis=1)
    lowest, highest = ordered[:, 0], ordered[:, -1]
    lower, upper, tail = (interpolate_sorted(ordered, share) for share in (0.25, 0.75, 0.99))
    typical = np.median(ordered, axis=1)
    return Steadiness(
        typical,
        _variation(ordered),
        _share(upper - lower, typical),
        _share(tail, typical),
        _share(highest, lowest),
        _drift(samples),
    )


def _variation(ordered: Floats) -> Floats:
    """Standard deviation over mean, by what each sample is above the least.

    Sums are added up one by one in ascending order, so that they never depend on the machine.
    """
    count = ordered.shape[1]
    if count < 2:
        return np.full(len(ordered), np.nan)
    excess = ordered - ordered[:, :1]
    total, squares = (np.add.accumulate(each, axis=1)[:, -1] for each in (excess, excess * excess))
    spread = np.maximum(squares - total * total / count, 0)
    return _share(np.sqrt(spread / (count - 1)), ordered[:, 0] + total / count)


def _drift(samples: Floats) -> Floats:
    count = samples.shape[1]
    if count < 3:
        return np.full(len(samples), np.nan)
    first, last = samples[:, : count // 3], samples[:, 2 * count // 3 :]
    return _share(np.median(last, axis=1), np.median(first, axis=1)) - 1


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(whole == 0, np.nan, part / whole)
    return share
