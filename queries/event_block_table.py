"""Event blocks -> the table that the Inspector prints, one row per event. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ingest.schemas import UINT64
from queries.event_blocks import Event, EventBlock
from queries.samples import Statistics
from queries.time_scales import TimeScale

FRAMEWORK_EVENT = "OPERATOR_CALL"


def event_block_table(
    blocks: Sequence[EventBlock], target_time_scale: TimeScale, *, has_framework_events: bool
) -> pa.Table:
    """The columns of the Inspector's `print_data_tabular` and `save_data_to_tsv`, in their order.

    One row per event, in file order; those named OPERATOR_CALL, which time an operator with the
    framework around it, only if `has_framework_events`. Statistics are in the target time scale,
    null without samples; `start_time` is in ticks. op_types and delegate_backend_name need an
    ETRecord and are empty.
    """
    rows = [
        (block.name, event)
        for block in blocks
        for event in block.events
        if has_framework_events or event.name != FRAMEWORK_EVENT
    ]
    events = [event for _, event in rows]
    statistics = [_statistics(event) for event in events]
    columns: dict[str, pa.Array] = {
        "event_block_name": pa.array([name for name, _ in rows], pa.string()),
        "event_name": pa.array([event.name for event in events], pa.string()),
    }
    for i, name in enumerate(Statistics._fields):
        values = pa.array([row[i] for row in statistics], pa.float64())
        columns[f"{name} ({target_time_scale})"] = values
    columns |= {
        "op_types": pa.array([[] for _ in events], pa.list_(pa.string())),
        "is_delegated_op": pa.array([event.is_delegated_op for event in events], pa.bool_()),
        "delegate_backend_name": pa.nulls(len(events), pa.string()),
        "start_time": pa.array(
            [event.samples and event.samples.start_time for event in events], pa.list_(UINT64)
        ),
    }
    return pa.table(columns)


def _statistics(event: Event) -> Sequence[float | None]:
    statistics = event.samples.statistics if event.samples else None
    return statistics or [None] * len(Statistics._fields)
