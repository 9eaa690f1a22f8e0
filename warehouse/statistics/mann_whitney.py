"""The exact null distribution of the Mann-Whitney U, as the table the regression query joins."""

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

    Columns of the table mann_whitney_exact, ordered by n_small, n_large, u; one row per U with
    p <= 0.2, where U is the smaller of the two and no values are tied.
    """
    parts: list[NDArray[np.float64]] = []
    for small, large, counts in _arrangements(max_n):
        p = 2 * np.cumsum(counts) / math.comb(small + large, small)
        p = p[p <= LARGEST_P]
        sizes = np.full(len(p), small), np.full(len(p), large)
        parts.append(np.stack([*sizes, np.arange(len(p)), p]))
    columns = np.concatenate(parts, axis=1)
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True))).cast(_SCHEMA)


def _arrangements(max_n: int) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Number of orders of two samples that give U = 0, 1, ...; 60 choose 30 still fits 64 bits.

    The largest value is in the smaller sample (and above all of the larger one) or it is not:
    count(m, n, u) = count(m - 1, n, u - n) + count(m, n - 1, u).
    """
    counts = {(0, n): np.ones(1, np.int64) for n in range(max_n + 1)}
    for small in range(1, max_n + 1):
        for large in range(small, max_n + 1):
            total = np.zeros(small * large + 1, np.int64)
            total[large:] += counts[small - 1, large]
            fewer = counts[min(small, large - 1), max(small, large - 1)]
            total[: len(fewer)] += fewer
            counts[small, large] = total
            yield small, large, total
