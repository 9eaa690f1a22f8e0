"""Bars, histograms and trends for the rows of some canned queries on a terminal. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


_HEIGHTS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"
_GAP = "·"

# Queries with a row per part of a whole, and their column with the share.
HOTSPOTS = {"operator_hotspots": "self_share", "layer_hotspots": "time_share"}
# Queries with a row per series and build, and their column with the value.
HISTORIES = {"build_history": "p50_ns", "tax_history": "tax_ns", "op_type_history": "run_ns"}
_SERIES = (
    "device", "model", "backend", "run", "op_type", "kind", "event_name", "delegate_id", "ordinal",
)  # fmt: skip
_QUANTILES = (0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0)
_PERCENTILES = ("min_ns", "p10_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "max_ns")


def sparkline(values: Sequence[float | None]) -> str:
    """A character per value, from lowest to highest; a dot for a missing value.

    Values within 5 % of each other look alike, so that noise does not stand out.

    >>> sparkline([100.0, 101.0, None, 150.0, 200.0])
    '▁▁·▅█'
    """
    known = [value for value in values if _is_known(value)]
    if not known:
        return _GAP * len(values)
    low, high = min(known), max(known)  # type: ignore[type-var]
    span = max(high - low, 0.05 * abs(low)) or 1.0  # type: ignore[operator,arg-type]
    return "".join(
        _HEIGHTS[min(7, round((value - low) / span * 7))]  # type: ignore[operator]
        if _is_known(value)
        else _GAP
        for value in values
    )


def bar(share: float | None, width: int = 12) -> str:
    """A bar whose length is this share of the width.

    >>> bar(0.5, 4), bar(0.03, 4), bar(None)
    ('██', '▏', '')
    """
    if not _is_known(share):
        return ""
    eighths = round(min(1.0, max(0.0, share or 0.0)) * width * 8)
    eighths = max(eighths, 1) if share else eighths
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def histogram(quantiles: Sequence[float], values: Sequence[float | None], width: int = 20) -> str:
    """The density of values between the smallest and the largest, on a logarithmic axis.

    Args:
        quantiles: The percentiles as shares, from 0 to 1, ascending.
        values: The percentiles; between two of them values are taken as equally frequent.
        width: Columns.

    >>> histogram([0, 0.5, 1], [100.0, 110.0, 400.0], 8)
    '█▂▂▂▂▂▂▂'
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not all(map(_is_known, known)):
        return ""
    edges = _edges(max(known[0], known[-1] * 1e-6), known[-1], width)
    masses = [_below(b, quantiles, known) - _below(a, quantiles, known) for a, b in pairwise(edges)]
    most = max(masses)
    if most <= 0:
        return "█"
    return "".join(_HEIGHTS[round(mass / most * 7)] if mass > 0 else " " for mass in masses)


def _edges(low: float, high: float, count: int) -> list[float]:
    if not 0 < low < high:
        return [low, high]
    ratio = (high / low) ** (1 / count)
    return [low * ratio**i for i in range(count)] + [high]


def _below(value: float, quantiles: Sequence[float], values: Sequence[float]) -> float:
    if value <= values[0]:
        return 0.0
    for (a, low), (b, high) in pairwise(zip(quantiles, values, strict=True)):
        if value <= high:
            return a if high == low else a + (b - a) * (value - low) / (high - low)
    return quantiles[-1]


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def with_bars(table: pa.Table, share: str) -> pa.Table:
    """Hotspots with a column of bars for the shares."""
    bars = [bar(one) for one in table[share].to_pylist()]
    at = table.column_names.index(share) + 1
    return table.add_column(at, "", _texts(bars))


def with_histograms(table: pa.Table) -> pa.Table:
    """Percentiles with a column of histograms, from the shortest to the longest duration.

    Between two percentiles, durations are drawn as equally frequent.
    """
    columns = [table[name].to_pylist() for name in _PERCENTILES]
    drawn = [histogram(_QUANTILES, values) for values in zip(*columns, strict=True)]
    return table.append_column("from min to max", _texts(drawn))


def series_columns(table: pa.Table) -> list[str]:
    """The columns that identify a series of a history."""
    return [name for name in _SERIES if name in table.column_names]


def trends(table: pa.Table, value: str) -> pa.Table:
    """A line per series of a history: a sparkline, and the first and last value.

    Returns:
        The columns of the series, builds, trend, and the first and last value; in the order of the
        rows.
    """
    import pyarrow as pa

    names = series_columns(table)
    keys = zip(*(table[name].to_pylist() for name in names), strict=True)
    rows = zip(keys, table[value].to_pylist(), strict=True)
    found = {key: [one for _, one in same] for key, same in groupby(rows, itemgetter(0))}
    columns = {
        name: pa.array([key[i] for key in found], table.schema.field(name).type)
        for i, name in enumerate(names)
    }
    return pa.table(
        {
            **columns,
            "builds": pa.array(map(len, found.values()), pa.int64()),
            "trend": _texts([sparkline(values) for values in found.values()]),
            f"first_{value}": pa.array([values[0] for values in found.values()], pa.float64()),
            f"last_{value}": pa.array([values[-1] for values in found.values()], pa.float64()),
        }
    )


def _texts(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    return pa.array(texts, pa.string())
