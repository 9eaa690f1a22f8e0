"""Rows of the statements pair_values and pair_dumps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from tracehouse.warehouse.regressions.pair import TwoBuilds, read_modules
from tracehouse.warehouse.regressions.pair_series import PairDumps, describe_dumps

CONV, RELU = "native_call_conv.out", "native_call_relu.out"
_TEXTS = (
    *("device", "pool", "model", "backend", "run", "event_name", "delegate_id", "kind"),
    *("op_type", "unit", "build", "session", "pair"),
)
VALUES = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.int32()) for name in ("ordinal", "distance", "dump", "instruction_id")),
        ("recorded_at", pa.timestamp("us", "UTC")),
        *((name, pa.float64()) for name in ("floor", "half_tick", "value", "log")),
    ]
)
DUMPS = pa.schema(
    [
        *((name, pa.int32()) for name in ("dump_id", "is_head", "threads")),
        *((name, pa.string()) for name in ("device", "pool", "model", "backend", "session")),
        *((name, pa.string()) for name in ("pair", "os_version", "soc", "quantization")),
        *((name, pa.string()) for name in ("firmware", "governor")),
        ("captured_at", pa.timestamp("us", "UTC")),
        ("etrecord_id", pa.int64()),
    ]
)


def value_row(dump: int, value: float | None, distance: int | None = 0, **changes: Any) -> Any:
    """A value of an operator in a dump: by default of the head."""
    event = changes.get("event_name", CONV)
    row = {
        "device": "phone",
        "model": "net",
        "run": "Execute",
        "event_name": event,
        "kind": "kernel",
        "op_type": event.partition(".")[0],
        "unit": "ns",
        "build": {0: "head", 1: "base"}.get(distance, "pinned"),  # type: ignore[call-overload]
        "session": "",
        "pair": "",
        "ordinal": 1,
        "distance": distance,
        "dump": dump,
        "instruction_id": 1,
        "floor": 1000.0,
        "half_tick": 0.5,
        "value": value,
    }
    row |= changes
    least = row["half_tick"]
    return row | {"log": None if value is None else float(np.log(max(value, least)))}


def sides(base: Sequence[float | None], head: Sequence[float | None], **changes: Any) -> list[Any]:
    """Values of an operator in dumps 0, 1, ... of the base, and 100, 101, ... of the head."""
    return [
        value_row(start + number, value, distance, **changes)
        for start, distance, values in ((0, 1, base), (100, 0, head))
        for number, value in enumerate(values)
    ]


def values_table(rows: Iterable[Any]) -> pa.Table:
    """Rows of the statement pair_values."""
    return pa.Table.from_pylist(list(rows), VALUES)


def dump_row(number: int, **changes: Any) -> dict[str, Any]:
    """A dump, by default of the head from number 100 on."""
    return {
        "dump_id": number,
        "is_head": int(number >= 100),
        "device": "phone",
        "model": "net",
    } | changes


def dumps_of(rows: Iterable[Any], **changes: Any) -> PairDumps:
    """The dumps of rows of values, of the base or head, in turns unless said otherwise."""
    places = {
        row["dump"]: {name: row[name] for name in ("device", "model")} | {"pool": row.get("pool")}
        for row in rows
        if row["distance"] is not None
    }
    heads = {row["dump"]: int(row["distance"] == 0) for row in rows if row["distance"] is not None}
    found = [
        dump_row(number, is_head=heads[number], **place, **changes)
        for number, place in places.items()
    ]
    return describe_dumps(dumps_table(found))


def dumps_table(rows: Iterable[Any]) -> pa.Table:
    """Rows of the statement pair_dumps."""
    return pa.Table.from_pylist(list(rows), DUMPS)


def two_builds(rows: Iterable[Any], **changes: Any) -> TwoBuilds:
    """What is known of two builds, without ETRecords."""
    return TwoBuilds(dumps_of(rows, **changes), read_modules([]))


def at(minute: int, day: int = 1) -> datetime:
    """A time of recording."""
    from datetime import UTC

    return datetime(2026, 1, day, 12, minute, tzinfo=UTC)
