"""A profiler blob -> times of events per block name and iteration, and totals.

Blocks of the same name are iterations of the same code, with the same events in the same order and
the same allocations. docs/profiler-blobs.md lists errors of ExecuTorch's parser that are avoided
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tracehouse.queries.profiler_blob.iterations import Iteration, group_iterations
from tracehouse.queries.profiler_blob.time_scales import ProfilerTimeScale, Time


@dataclass(frozen=True)
class ProfilerEvent:
    """One event of a block.

    Attributes:
        name: Its name.
        chain_index: Chain of the first iteration's event; -1 outside instructions.
        instruction_id: Instruction of the first iteration's event.
        start: Start in each iteration.
        duration: End minus start in each iteration, as logged: below 0 if the end came first.
    """

    name: str
    chain_index: int
    instruction_id: int
    start: list[Time]
    duration: list[Time]


class AllocatorTotal(NamedTuple):
    """The allocations of an allocator.

    Attributes:
        allocator: Its name; None if unknown.
        total_bytes: Bytes in one iteration; all iterations are equal.
        all_iterations_bytes: Bytes in all iterations together.
    """

    allocator: str | None
    total_bytes: int
    all_iterations_bytes: int


class FrameworkTax(NamedTuple):
    """The framework tax of each iteration.

    Attributes:
        exec_time: Duration of the longest Method::execute.
        kernel_and_delegate_time: Sum over kernels and the delegates' own execution.
        framework_tax_percent: Share of exec_time spent in neither; None if exec_time is 0.
    """

    exec_time: list[Time]
    kernel_and_delegate_time: list[Time]
    framework_tax_percent: list[float | None]


@dataclass(frozen=True)
class ProfilerBlock:
    """The iterations of a block name.

    Attributes:
        iteration_count: Number of blocks of this name.
        events: Events in order of their starts.
        memory: One per allocator, in order of first use.
        framework_tax: None without an execution, or without kernels and delegates.
        wrong_count: Wrong durations: below 0, or at least 2^63 ticks.
    """

    name: str
    iteration_count: int
    events: list[ProfilerEvent]
    memory: list[AllocatorTotal]
    framework_tax: FrameworkTax | None
    wrong_count: int


def build_profiler_blocks(
    data: bytes | memoryview, time_scale: ProfilerTimeScale, *, name: str = "blob"
) -> list[ProfilerBlock]:
    """The blocks of a blob, which errors call `name`, by name, in order of first appearance.

    A malformed blob raises DumpError, and iterations of a block that differ in their events or
    allocations raise QueryError.
    """
    groups = group_iterations(data, name)
    return [_block(name, iterations, time_scale) for name, iterations in groups.items()]


def _block(
    name: str, iterations: Sequence[Iteration], time_scale: ProfilerTimeScale
) -> ProfilerBlock:
    names = iterations[0].names
    first = iterations[0].events
    starts = _by_event([iteration.events["start"].tolist() for iteration in iterations])
    ends = _by_event([iteration.events["end"].tolist() for iteration in iterations])
    durations = [
        [end - start for start, end in zip(*times, strict=True)]
        for times in zip(starts, ends, strict=True)
    ]
    scaled = zip(starts, durations, strict=True)
    return ProfilerBlock(
        name,
        len(iterations),
        [
            ProfilerEvent(
                event,
                chain,
                instruction,
                [time_scale.convert(ticks) for ticks in start],
                [time_scale.convert(ticks) for ticks in duration],
            )
            for event, chain, instruction, (start, duration) in zip(
                names, first["chain"].tolist(), first["instruction"].tolist(), scaled, strict=True
            )
        ],
        _memory(iterations),
        _framework_tax(names, durations, time_scale),
        sum(not 0 <= ticks < 2**63 for duration in durations for ticks in duration),
    )


def _by_event(by_iteration: list[list[int]]) -> list[tuple[int, ...]]:
    return list(zip(*by_iteration, strict=True))


def _memory(iterations: Sequence[Iteration]) -> list[AllocatorTotal]:
    """One per allocator id and name, as iterations may use different names for an id."""
    in_one: dict[tuple[int, str | None], int] = {}
    in_all: Counter[tuple[int, str | None]] = Counter()
    for iteration in iterations:
        rows = zip(iteration.allocations.tolist(), iteration.allocators, strict=True)
        own: Counter[tuple[int, str | None]] = Counter()
        for (allocator, byte_count), name in rows:
            own[allocator, name] += byte_count
        in_all.update(own)
        for key, total in own.items():
            in_one.setdefault(key, total)
    return [AllocatorTotal(key[1], total, in_all[key]) for key, total in in_one.items()]


def _framework_tax(
    names: Sequence[str], durations: Sequence[Sequence[int]], time_scale: ProfilerTimeScale
) -> FrameworkTax | None:
    """The tax, computed in ticks; kinds of events are recognised by parts of their names."""
    named = list(zip(names, durations, strict=True))
    executes = [times for name, times in named if "Method::execute" in name]
    parts = [times for name, times in named if "native_call" in name or "delegate_execute" in name]
    if not executes or not parts:
        return None
    execute = [max(times) for times in zip(*executes, strict=True)]
    part = [sum(times) for times in zip(*parts, strict=True)]
    return FrameworkTax(
        [time_scale.convert(ticks) for ticks in execute],
        [time_scale.convert(ticks) for ticks in part],
        [
            100 * (whole - taken) / whole if whole else None
            for whole, taken in zip(execute, part, strict=True)
        ],
    )
