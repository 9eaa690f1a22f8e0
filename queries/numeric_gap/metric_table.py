"""Tables of compared values: the columns that they share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from queries.numeric_gap.comparators import Comparison


def column(name: str, type_: pa.DataType, doc: str, *, nullable: bool = True) -> pa.Field:
    """A column with what it means."""
    return pa.field(name, type_, nullable=nullable, metadata={"doc": doc})


_VERDICT = [
    column("verdict", pa.string(), "equal, different or not_compared.", nullable=False),
    column("reason", pa.string(), "Why it was not compared; null if it was."),
]


def metric_table(
    rows: Iterable[Mapping[str, Any]],
    leading: Iterable[pa.Field],
    metrics: Iterable[str],
    trailing: Iterable[pa.Field] = (),
) -> pa.Table:
    """Rows as a table: leading columns, one per metric, verdict, reason, and trailing columns."""
    shown = [column(name, pa.float64(), "Metric of that name.") for name in metrics]
    return pa.Table.from_pylist(list(rows), pa.schema([*leading, *shown, *_VERDICT, *trailing]))


def comparison_columns(comparison: Comparison, metrics: Collection[str]) -> dict[str, Any]:
    """What came of a comparison, in these columns."""
    return {
        **dict(zip(metrics, comparison.metrics, strict=True)),
        "verdict": comparison.verdict,
        "reason": comparison.reason,
    }
