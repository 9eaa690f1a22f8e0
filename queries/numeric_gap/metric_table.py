"""The columns that all tables of compared values share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from tracehouse.queries.numeric_gap.comparators import Comparison


def column(name: str, type_: pa.DataType, doc: str, *, nullable: bool = True) -> pa.Field:
    """A column with its description."""
    return pa.field(name, type_, nullable=nullable, metadata={"doc": doc})


_VERDICT = [
    column(
        "verdict",
        pa.string(),
        "equal, within_tolerance, different or not_compared.",
        nullable=False,
    ),
    column("reason", pa.string(), "Why the value was not compared; null if it was."),
]


def metric_table(
    rows: Iterable[Mapping[str, Any]],
    leading: Iterable[pa.Field],
    metrics: Iterable[str],
    trailing: Iterable[pa.Field] = (),
) -> pa.Table:
    """Rows as a table: leading columns, metrics, verdict, reason, and trailing columns."""
    shown = [column(name, pa.float64(), "Metric of that name.") for name in metrics]
    return pa.Table.from_pylist(list(rows), pa.schema([*leading, *shown, *_VERDICT, *trailing]))


def comparison_columns(comparison: Comparison, metrics: Collection[str]) -> dict[str, Any]:
    """The result of a comparison, by column."""
    return {
        **dict(zip(metrics, comparison.metrics, strict=True)),
        "verdict": comparison.verdict,
        "reason": comparison.reason,
    }
