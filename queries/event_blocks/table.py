"""Event blocks -> the Inspector's table, one row per event. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tracehouse.ingest.schemas.dumps import UINT64
from tracehouse.queries.event_blocks.blocks import (
    FRAMEWORK_EVENT,
    STATISTICS,
    EventBlock,
    shorten_op_types,
)
from tracehouse.queries.event_blocks.samples import summarise_events
from tracehouse.queries.event_blocks.time_scales import TimeScale


def event_block_table(
    blocks: Sequence[EventBlock], unit: TimeScale | None, *, has_framework_events: bool
) -> pa.Table:
    """The columns of the Inspector's `print_data_tabular` and `save_data_to_tsv`, in their order.

    One row per event, in file order; events named OPERATOR_CALL, which time an operator with the
    framework around it, are included only if `has_framework_events`. Statistics are in the target
    time scale, null without samples, and have `unit` in their names if given; `start_time` is in
    ticks. op_types and delegate_backend_name are empty without an ETRecord.
    """
    rows = [
        (block.name, event)
        for block in blocks
        for event in block.events
        if has_framework_events or event.name != FRAMEWORK_EVENT
    ]
    events = [event for _, event in rows]
    columns: dict[str, pa.Array] = {
        "event_block_name": pa.array([name for name, _ in rows], pa.string()),
        "event_name": pa.array([event.name for event in events], pa.string()),
    }
    summaries = summarise_events(
        [event.perf_data.raw if event.perf_data else [] for event in events]
    )
    for name in STATISTICS:
        values = pa.array([getattr(one, name, None) for one in summaries], pa.float64())
        columns[f"{name} ({unit})" if unit else name] = values
    columns |= {
        "op_types": pa.array([event.op_types for event in events], pa.list_(pa.string())),
        "is_delegated_op": pa.array([event.is_delegated_op for event in events], pa.bool_()),
        "delegate_backend_name": pa.array(
            [event.delegate_backend_name for event in events], pa.string()
        ),
        "start_time": pa.array([event.start_time for event in events], pa.list_(UINT64)),
    }
    return pa.table(columns)


def pandas_cells(table: pa.Table) -> pa.Table:
    """The table of `event_block_table` as pandas writes it to a file.

    Rows are numbered in a first column without a name; lists and booleans are texts in Python's
    notation, and five or more op_types are shortened as the Inspector does.
    """
    spellings: dict[str, Callable[[Any], object]] = {
        "op_types": shorten_op_types,
        "is_delegated_op": bool,
        "start_time": lambda times: [int(time) for time in times],
    }
    for name, spell in spellings.items():
        texts = [None if value is None else str(spell(value)) for value in table[name].to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))
    return table.add_column(0, "", pa.array(range(table.num_rows), pa.int64()))
