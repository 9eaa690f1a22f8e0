"""A drop-in for `deserialize_profile_results` of ExecuTorch's parser, with the same objects.

docs/profiler-blobs.md lists intended differences: names, and times that are not rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracehouse.queries.profiler_blob.blocks import ProfilerTimeScale, Time, build_profiler_blocks

TimeScale = ProfilerTimeScale


@dataclass
class ProfileEvent:
    """One event of a block name.

    Attributes:
        name: Its name.
        ts: Start in each iteration.
        duration: End minus start in each iteration.
        chain_idx: Chain of the first iteration's event; -1 outside instructions.
        instruction_idx: Instruction of the first iteration's event.
        stacktrace: Always None, as a blob does not have it.
    """

    name: str
    ts: list[Time]
    duration: list[Time]
    chain_idx: int = -1
    instruction_idx: int = -1
    stacktrace: str | None = None


@dataclass
class MemEvent:
    """Bytes that one iteration allocates; `allocator_name` is None if unknown."""

    allocator_name: str | None
    total_allocations_done: int


def deserialize_profile_results(
    buff: bytes | memoryview, time_scale: TimeScale = TimeScale.TIME_IN_NS
) -> tuple[dict[str, list[ProfileEvent]], dict[str, list[MemEvent]]]:
    """Events and memory of a profiler blob, each by block name.

    A malformed blob raises DumpError; iterations of a block that differ in their events or
    allocations raise QueryError.
    """
    blocks = build_profiler_blocks(buff, time_scale)
    events = {
        block.name: [
            ProfileEvent(
                event.name, event.start, event.duration, event.chain_index, event.instruction_id
            )
            for event in block.events
        ]
        for block in blocks
    }
    memory = {
        block.name: [MemEvent(total.allocator, total.total_bytes) for total in block.memory]
        for block in blocks
    }
    return events, memory
