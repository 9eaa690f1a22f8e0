"""Event blocks -> the JSON of `tracehouse inspect`, with the Inspector's names. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from queries.event_blocks import Event, EventBlock
from queries.logged_values import LoggedValue, Tensor
from queries.samples import Samples, Statistics


def event_blocks_json(blocks: Sequence[EventBlock]) -> dict[str, list[dict[str, Any]]]:
    """The blocks as plain values that any JSON writer takes.

    Statistics, `raw` and `start_time` are null for an event without profile events. An event has
    `samples_per_run` only if it repeats within a run, and `flagged` only if it has samples whose
    duration cannot be right. What needs an ETRecord is null or empty.
    """
    return {"event_blocks": [_block(block) for block in blocks]}


def _block(block: EventBlock) -> dict[str, Any]:
    return {
        "name": block.name,
        "bundled_input_index": block.bundled_input_index,
        "source_time_scale": block.source_time_scale.value,
        "target_time_scale": block.target_time_scale.value,
        "run_output": [_value(value) for value in block.run_output],
        "reference_output": None,
        "events": [_event(event) for event in block.events],
    }


def _event(event: Event) -> dict[str, Any]:
    samples = event.samples
    metadata = samples.metadata if samples else []
    return {
        "name": event.name,
        "instruction_id": event.instruction_id,
        **_samples(samples),
        "op_types": [],
        "delegate_debug_identifier": event.delegate_debug_identifier,
        "is_delegated_op": event.is_delegated_op,
        "delegate_backend_name": None,
        "debug_handles": None,
        "stack_traces": {},
        "module_hierarchy": {},
        "raw_delegate_debug_metadatas": [raw.hex() for raw in metadata],
        "debug_data": [_value(value) for value in event.debug_data],
    }


def _samples(samples: Samples | None) -> dict[str, Any]:
    statistics = samples.statistics if samples else None
    columns: dict[str, Any] = {"raw": samples.raw if samples else None}
    if samples and samples.samples_per_run is not None:
        columns["samples_per_run"] = samples.samples_per_run
    if samples and samples.flagged:
        columns["flagged"] = [flagged._asdict() for flagged in samples.flagged]
    columns |= statistics._asdict() if statistics else dict.fromkeys(Statistics._fields)
    return columns | {"start_time": samples.start_time if samples else None}


def _value(value: LoggedValue) -> Any:
    if isinstance(value, Tensor):
        return value._asdict()
    if isinstance(value, list):
        return [tensor._asdict() for tensor in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)  # as text: NaN, Infinity, -Infinity
    return value
