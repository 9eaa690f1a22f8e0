"""The exact null distribution of the Mann-Whitney U. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LARGEST_P = 0.2
_SCHEMA = pa.schema(
    [("n_small", pa.int32()), ("n_large", pa.int32()), ("u", pa.int32()), ("p", pa.float64())]
)


def exact_null_table(max_n: int = 30) -> pa.Table:
    """Two-sided p of every U that is rare for some pair of sample sizes up to `max_n` (at most 30).

    Ordered by n_small, n_large, u; one row per U with p <= 0.2, where U is the smaller of the two
    and no values are tied.
    """
    parts: list[NDArray[np.float64]] = []
    for small, counts in _arrangements(max_n):
        orders = [math.comb(small + large, small) for large in range(small, max_n + 1)]
        p = 2 * np.cumsum(counts[small:], axis=1) / np.array(orders)[:, None]
        more, u = np.nonzero(p <= LARGEST_P)
        parts.append(np.stack([np.full(len(u), small), more + small, u, p[more, u]]))
    columns = np.concatenate(parts, axis=1)
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True))).cast(_SCHEMA)


def _arrangements(max_n: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Per size m of one sample: the number of orders that give U, for each size n of the other.

    One row per n from 0, one column per U from 0 to the middle; 60 choose 30 still fits 64 bits.
    The largest value is in the first sample (and exceeds all of the other), or in the second:
    count(m, n, u) = count(m - 1, n, u - n) + count(m, n - 1, u).
    """
    n = np.arange(max_n + 1)[:, None]
    rest = np.arange(max_n**2 // 2 + 1) - n
    counts = np.zeros(rest.shape, np.int64)
    counts[:, 0] = 1
    for m in range(1, max_n + 1):
        counts = np.cumsum(np.where(rest >= 0, counts[n, rest], 0), axis=0)
        yield m, counts
