"""What a terminal shows beside the rows of some canned queries. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from queries.plots.marks import bar, histogram, sparkline

if TYPE_CHECKING:
    import pyarrow as pa

SERIES = ("device", "model", "backend", "event_name", "delegate_id", "ordinal")
_SHARES = (0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0)
_PERCENTILES = ("min_ns", "p10_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "max_ns")


def with_bars(table: pa.Table) -> pa.Table:
    """Operator hotspots with a bar for the share of each."""
    bars = [bar(share) for share in table["self_share"].to_pylist()]
    at = table.column_names.index("self_share") + 1
    return table.add_column(at, "", _texts(bars))


def with_histograms(table: pa.Table) -> pa.Table:
    """Percentiles with a histogram of each event, from its least to its greatest duration.

    It is as fine as the percentiles are: between two of them all durations are as frequent.
    """
    columns = [table[name].to_pylist() for name in _PERCENTILES]
    drawn = [histogram(_SHARES, values) for values in zip(*columns, strict=True)]
    return table.append_column("from min_ns to max_ns", _texts(drawn))


def trends(table: pa.Table) -> pa.Table:
    """A line per series of a build history: a sparkline, and the first and last value.

    Returns:
        The columns of `SERIES`, builds, trend, first_ns and last_ns; in the order of the rows.
    """
    import pyarrow as pa

    rows = table.select([*SERIES, "p50_ns"]).to_pylist()
    lines = [_trend(key, list(same)) for key, same in groupby(rows, _key)]
    schema = pa.schema([table.schema.field(name) for name in SERIES])
    for name, type_ in (
        ("builds", pa.int64()), ("trend", pa.string()), ("first_ns", pa.float64()),
        ("last_ns", pa.float64()),
    ):  # fmt: skip
        schema = schema.append(pa.field(name, type_))
    return pa.Table.from_pylist(lines, schema=schema)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in SERIES)


def _trend(key: tuple[Any, ...], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = [row["p50_ns"] for row in rows]
    return {
        **dict(zip(SERIES, key, strict=True)),
        "builds": len(values),
        "trend": sparkline(values),
        "first_ns": values[0],
        "last_ns": values[-1],
    }


def _texts(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    return pa.array(texts, pa.string())
