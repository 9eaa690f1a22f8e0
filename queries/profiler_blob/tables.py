"""Tables and JSON of profiler blobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from tracehouse.ingest.schemas.dumps import UINT64
from tracehouse.queries.profiler_blob.blocks import (
    FrameworkTax,
    ProfilerBlock,
    ProfilerEvent,
    ProfilerTimeScale,
    Time,
)


def sample_table(blocks: Sequence[ProfilerBlock], time_scale: ProfilerTimeScale) -> pa.Table:
    """One row per event and iteration: block, iteration, event, start and duration, exactly."""
    rows = [
        (block.name, iteration, event)
        for block in blocks
        for event in block.events
        for iteration in range(block.iteration_count)
    ]
    events = [event for _, _, event in rows]
    unit = time_scale.target
    return pa.table(
        {
            "block": pa.array([name for name, _, _ in rows], pa.string()),
            **_event_columns(events),
            "iteration_index": pa.array([i for _, i, _ in rows], pa.int64()),
            f"start ({unit})": _times([event.start[i] for _, i, event in rows]),
            f"duration ({unit})": _times([event.duration[i] for _, i, event in rows]),
        }
    )


def titled_tables(
    blocks: Sequence[ProfilerBlock], time_scale: ProfilerTimeScale
) -> Iterator[tuple[str, pa.Table]]:
    """Each block's profile, then each framework tax, then each block's memory, with titles."""
    unit = time_scale.target
    for block in blocks:
        yield f"{block.name}: profile ({unit})", _profile_table(block)
    for block in blocks:
        if block.framework_tax:
            yield f"{block.name}: framework tax ({unit})", _tax_table(block.framework_tax)
    for block in blocks:
        yield f"{block.name}: memory", _memory_table(block)


def _profile_table(block: ProfilerBlock) -> pa.Table:
    durations = {
        f"iteration {i}": pa.array([event.duration[i] for event in block.events], pa.float64())
        for i in range(block.iteration_count)
    }
    return pa.table({**_event_columns(block.events), **durations})


def _tax_table(tax: FrameworkTax) -> pa.Table:
    return pa.table(
        {
            "iteration_index": pa.array(range(len(tax.exec_time)), pa.int64()),
            "execute": pa.array(tax.exec_time, pa.float64()),
            "kernels and delegates": pa.array(tax.kernel_and_delegate_time, pa.float64()),
            "framework tax (%)": pa.array(tax.framework_tax_percent, pa.float64()),
        }
    )


def _memory_table(block: ProfilerBlock) -> pa.Table:
    return pa.table(
        {
            "allocator": pa.array([total.allocator for total in block.memory], pa.string()),
            "total_bytes": pa.array([total.total_bytes for total in block.memory], UINT64),
            "all_iterations_bytes": pa.array(
                [total.all_iterations_bytes for total in block.memory], UINT64
            ),
        }
    )


def _event_columns(events: Sequence[ProfilerEvent]) -> dict[str, pa.Array]:
    return {
        "name": pa.array([event.name for event in events], pa.string()),
        "chain_index": pa.array([event.chain_index for event in events], pa.int64()),
        "instruction_id": pa.array([event.instruction_id for event in events], pa.int64()),
    }


def _times(times: list[Time]) -> pa.Array:
    """Exact decimals of ticks, doubles of ms."""
    is_exact = all(isinstance(time, int) for time in times)
    return pa.array(times, UINT64 if is_exact else pa.float64())


def profiler_blob_json(blocks: Sequence[ProfilerBlock]) -> dict[str, dict[str, Any]]:
    """The blocks as plain values for a JSON writer, each part by name of the block.

    A block without an execution, or without kernels and delegates, has no framework tax.
    """
    return {
        "profile": {block.name: [asdict(event) for event in block.events] for block in blocks},
        "memory": {block.name: [total._asdict() for total in block.memory] for block in blocks},
        "framework_tax": {
            block.name: block.framework_tax._asdict() for block in blocks if block.framework_tax
        },
    }
