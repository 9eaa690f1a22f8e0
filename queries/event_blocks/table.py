"""Event blocks -> the Inspector's table, a row per event, and the JSON of `inspect`. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.producers import Rule
from tracehouse.ingest.schemas.dumps import UINT64
from tracehouse.queries.event_blocks.blocks import (
    FRAMEWORK_EVENT,
    STATISTICS,
    Event,
    EventBlock,
    SampleStatistics,
    shorten_op_types,
    summarise_events,
)
from tracehouse.queries.event_blocks.logged_values import LoggedValue
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.load.delegate_metadata import parse_metadata

MOST_ELEMENTS = 64


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


def value_json(value: LoggedValue) -> Any:
    """The value; floats that are not finite are the texts NaN, Infinity and -Infinity.

    A tensor has dtype, shape and sha256 (of its bytes in logical C order), and `values`, flat in
    logical C order, if it has at most MOST_ELEMENTS elements. A tensor whose elements are missing
    has the reason as `missing`, and its sha256 is null.
    """
    if isinstance(value, TensorValue):
        return _tensor(value)
    if isinstance(value, list):
        return [_tensor(tensor) for tensor in value]
    return _scalar(value)


def _tensor(tensor: TensorValue) -> dict[str, Any]:
    columns = {"dtype": tensor.dtype, "shape": tensor.shape, "sha256": tensor.sha256}
    if tensor.stored is None:
        return columns | {"missing": tensor.missing}
    if tensor.stored.size > MOST_ELEMENTS or tensor.array is None:
        return columns
    return columns | {"values": [_scalar(element) for element in tensor.array.ravel().tolist()]}


def _scalar(value: float | None) -> float | str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def event_blocks_json(blocks: Sequence[EventBlock]) -> dict[str, list[dict[str, Any]]]:
    """The blocks as plain values for a JSON writer.

    Statistics, `raw` and `start_time` are null for an event without profile events. An event has
    `samples_per_run` only if it repeats within a run, and `flagged` only if it has samples with
    wrong durations. Values from an ETRecord are null or empty without one.
    """
    events = [event for block in blocks for event in block.events]
    summaries = iter(summarise_events([e.perf_data.raw if e.perf_data else [] for e in events]))
    return {"event_blocks": [_block(block, summaries) for block in blocks]}


def _block(block: EventBlock, summaries: Iterator[SampleStatistics | None]) -> dict[str, Any]:
    """The block; takes the statistics of its events from `summaries`."""
    return {
        "name": block.name,
        "bundled_input_index": block.bundled_input_index,
        "source_time_scale": block.source_time_scale.value,
        "target_time_scale": block.target_time_scale.value,
        "run_output": _values(block.run_output or []),
        "is_run_output_same_in_all_runs": block.outputs.is_same_in_all_runs,
        "reference_output": None
        if block.reference_output is None
        else _values(block.reference_output),
        "method": block.method,
        "method_candidates": block.method_candidates,
        "notes": block.notes,
        "events": [_event(event, next(summaries)) for event in block.events],
    }


def _event(event: Event, statistics: SampleStatistics | None) -> dict[str, Any]:
    metadata = event.raw_delegate_debug_metadatas
    return {
        "name": event.name,
        "kind": event.kind,
        "unit": event.rule and event.rule.unit,
        "rule": event.rule and _rule(event.rule),
        "instruction_id": event.instruction_id,
        **_samples(event, statistics),
        "op_types": list(event.op_types),
        "delegate_debug_identifier": event.delegate_debug_identifier,
        "is_delegated_op": event.is_delegated_op,
        "delegate_backend_name": event.delegate_backend_name,
        "debug_handles": event.debug_handles,
        "num_outputs": event.num_outputs,
        "stack_traces": dict(event.stack_traces),
        "module_hierarchy": dict(event.module_hierarchy),
        "raw_delegate_debug_metadatas": [raw.hex() for raw in metadata],
        "delegate_debug_metadatas": parse_metadata(metadata, event.delegate_backend_name),
        "debug_data": _values(event.debug_data),
        "is_debug_data_same_in_all_runs": event.values.is_same_in_all_runs,
    }


def _rule(rule: Rule) -> dict[str, str]:
    matched = "delegate_id" if rule.is_of_delegates else "event_name"
    pattern = rule.pattern.pattern.decode()
    return {"producer": rule.producer, matched: pattern, "source": rule.source}


def _samples(event: Event, statistics: SampleStatistics | None) -> dict[str, Any]:
    is_timed, data = event.start_time is not None, event.perf_data
    columns: dict[str, Any] = {"raw": (data.raw if data else []) if is_timed else None}
    if event.samples_per_run is not None:
        columns["samples_per_run"] = event.samples_per_run
    if event.flagged:
        columns["flagged"] = [flagged._asdict() for flagged in event.flagged]
    columns |= (
        statistics._asdict() if statistics else dict.fromkeys(SampleStatistics._fields) | {"n": 0}
    )
    return columns | {"start_time": event.start_time}


def _values(values: Sequence[LoggedValue | str]) -> list[Any]:
    return [value if isinstance(value, str) else value_json(value) for value in values]
