"""Types of numpy arrays, and rounding that no machine does otherwise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


ROUNDING = 1e-12  # relative error of a value, and so the error of its logarithm


def reaches(value: float, limit: float) -> bool:
    """Whether a value is the limit or more, but for its last digits.

    >>> 0.1 + 0.2 <= 0.3, reaches(0.3, 0.1 + 0.2), reaches(2e9, 2e9 + 1)
    (False, True, False)
    """
    return value >= limit - ROUNDING * abs(limit)


def log_change(share: Floats | float) -> Floats:
    """The logarithm of a change by a share, which the logarithms of such changes reach.

    >>> bool(np.log(1.03e6) - np.log(1e6) >= log_change(0.03))
    True
    """
    least: Floats = np.log1p(share) - ROUNDING
    return least
