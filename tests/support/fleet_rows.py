"""Rows of the statement fleet_values, gathered by recording or one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from tracehouse.warehouse.regressions.fleet import Fleet, build_fleet

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        *(
            (name, pa.string())
            for name in ("device", "pool", "model", "backend", "run", "event_name")
        ),
        *(
            (name, pa.string())
            for name in ("delegate_id", "kind", "op_type", "unit", "build", "session")
        ),
        ("ordinal", pa.int64()),
        ("distance", pa.int64()),
        ("recorded_at", pa.timestamp("us", "UTC")),
        ("floor", pa.float64()),
        ("half_tick", pa.float64()),
        ("dumps", pa.list_(pa.int64())),
        ("logs", pa.list_(pa.float64())),
        ("pairs", pa.list_(pa.string())),
    ]
)


def fleet_row(
    build: str = "b0", distance: int | None = 0, logs: Sequence[float] = (1.0,), **changes: Any
) -> dict[str, Any]:
    """An operator's values in one recording; a distance of None is a reference build."""
    fields = {
        "device": "phone",
        "pool": None,
        "model": "mv2",
        "backend": None,
        "run": "Execute",
        "event_name": "native_call_conv.out",
        "delegate_id": None,
        "kind": "kernel",
        "op_type": changes.get("event_name", "native_call_conv.out"),
        "unit": "ns",
        "build": build,
        "session": "",
        "ordinal": 1,
        "distance": distance,
        "recorded_at": START + timedelta(days=-(distance or 0)),
        "floor": 1.0,
        "half_tick": 0.5,
        "dumps": list(range(len(logs))),
        "logs": list(logs),
        "pairs": [""] * len(logs),
    }
    return fields | changes


def make_fleet(rows: Iterable[dict[str, Any]], head: str | None = None) -> Fleet:
    """The fleet of such rows; by default its head is the build at distance 0."""
    table = pa.Table.from_pylist(list(rows), SCHEMA)
    heads = table.filter(pa.compute.equal(table["distance"], 0))["build"]
    return build_fleet(table, head or heads[0].as_py(), lambda keys: np.full(len(keys), 0.03))


def value_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Such rows with one value each."""
    lists = {"dumps": "dump", "logs": "log", "pairs": "pair"}
    schema = pa.schema(
        pa.field(lists.get(field.name, field.name), field.type.value_type)
        if field.name in lists
        else field
        for field in SCHEMA
    )
    values = [
        {**row, "dump": dump, "log": log, "pair": pair}
        for row in rows
        for dump, log, pair in zip(row["dumps"], row["logs"], row["pairs"], strict=True)
    ]
    return pa.Table.from_pylist(values, schema)
