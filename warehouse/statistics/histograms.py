"""Histograms of durations in logarithmic buckets, which add up over dumps. Pure.

Bucket b contains durations above GAMMA ** (b - 1) and up to GAMMA ** b ticks; bucket ZERO contains
durations of 0 ticks. A bucket is represented by 2 * GAMMA ** b / (GAMMA + 1) ticks, which is within
1 % of all its durations. SQL has the same rule: see sql/queries/percentiles.sql.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.statistics.arrays import Ints

LEAST_RUNS = (
    200  # of a dump with histograms; for shorter dumps, they would be as large as the events
)
GAMMA = 1.01 / 0.99
ZERO = -1


class BucketCounts(NamedTuple):
    """Numbers of values, at least 1, by row and bucket."""

    row: Ints
    bucket: NDArray[np.int32]
    size: Ints


def count_buckets(rows: NDArray[np.generic]) -> BucketCounts:
    """The histogram of each row of sorted durations; shape (rows, size)."""
    bucket = find_buckets(rows)
    is_first = np.ones(rows.shape, bool)
    np.not_equal(bucket[:, 1:], bucket[:, :-1], out=is_first[:, 1:])
    first = np.flatnonzero(is_first)
    size = np.diff(first, append=rows.size)
    return BucketCounts(first // rows.shape[1], bucket.ravel()[first], size)


def find_buckets(ticks: NDArray[np.generic]) -> NDArray[np.int32]:
    """The bucket of each duration."""
    with np.errstate(divide="ignore"):  # of no ticks
        exponent = np.ceil(np.log(ticks, dtype=np.float64) / math.log(GAMMA))
    bucket: NDArray[np.int32] = np.maximum(exponent, ZERO).astype(np.int32)
    return bucket
