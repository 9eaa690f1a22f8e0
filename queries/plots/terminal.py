"""Bars, histograms and trends for the rows of some canned queries on a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from tracehouse.queries.plots.marks import bar, histogram, sparkline

if TYPE_CHECKING:
    import pyarrow as pa

# Queries with a row per part of a whole, and their column with the share.
HOTSPOTS = {"operator_hotspots": "self_share", "layer_hotspots": "time_share"}
# Queries with a row per series and build, and their column with the value.
HISTORIES = {"build_history": "p50_ns", "tax_history": "tax_ns", "op_type_history": "run_ns"}
_SERIES = (
    "device", "model", "backend", "run", "op_type", "kind", "event_name", "delegate_id", "ordinal",
)  # fmt: skip
_SHARES = (0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0)
_PERCENTILES = ("min_ns", "p10_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "max_ns")


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
    drawn = [histogram(_SHARES, values) for values in zip(*columns, strict=True)]
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
