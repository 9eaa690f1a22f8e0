"""A profiler blob -> times of events per block name and iteration, totals, tables and JSON.

Blocks of the same name are iterations of the same code, with the same events in the same order and
the same allocations. docs/profiler-blobs.md lists errors of ExecuTorch's parser that are avoided
here. `deserialize_profile_results` returns that parser's objects; its intended differences are
listed there too: names, and times that are not rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tracehouse.ingest.profiler_blob import (
    Blocks,
    Rows,
    cut_name,
    decode_profiler_blob,
    find_allocators,
)
from tracehouse.ingest.schemas.dumps import UINT64
from tracehouse.ingest.tables.build import readable
from tracehouse.warehouse.errors import QueryError

Time = int | float


class ProfilerTimeScale(StrEnum):
    """Unit of the blob's clock ticks. Times are given in ms, cycles unchanged."""

    NS = "ns"
    US = "us"
    MS = "ms"
    CYCLES = "cycles"
    TIME_IN_NS = NS  # the parser's names
    TIME_IN_US = US
    TIME_IN_MS = MS
    CPU_CYCLES = CYCLES

    @property
    def target(self) -> str:
        """Unit of the times given."""
        return "cycles" if self is ProfilerTimeScale.CYCLES else "ms"

    def convert(self, ticks: int) -> Time:
        """The ticks in the target unit as a double; unchanged if the units are equal."""
        ticks_per_ms = {ProfilerTimeScale.NS: 10**6, ProfilerTimeScale.US: 10**3}.get(self)
        return ticks / ticks_per_ms if ticks_per_ms else ticks


TimeScale = ProfilerTimeScale


class Iteration(NamedTuple):
    """One block.

    Attributes:
        names: Names of the events.
        allocators: Name of each allocation's allocator; None if unknown.
    """

    events: Rows
    names: list[str]
    allocations: Rows
    allocators: list[str | None]


def group_iterations(data: bytes | memoryview, source: str) -> dict[str, list[Iteration]]:
    """The blocks of a blob by name, in order of first appearance; a malformed one raises DumpError.

    Raises:
        QueryError: Iterations of a block differ in their events or allocations.
    """
    blocks = decode_profiler_blob(data, source)
    groups: dict[str, list[Iteration]] = {}
    for raw, iteration in zip(blocks.names, _iterations(blocks), strict=True):
        groups.setdefault(readable(raw), []).append(iteration)
    for name, iterations in groups.items():
        for number, iteration in enumerate(iterations):
            difference = _difference(iterations[0], iteration)
            if difference:
                raise QueryError(
                    f"{source}: block '{name}': {difference} in iterations 0 and {number}, "
                    "wanted equal iterations; `tracehouse ingest` accepts such blobs, too"
                )
    return groups


def _iterations(blocks: Blocks) -> list[Iteration]:
    events, allocations = blocks.rows("events"), blocks.rows("allocations")
    names = _texts(events)
    known = [*_texts(blocks.rows("allocators")), None]
    allocators = [known[row] for row in find_allocators(blocks).tolist()]
    event_ends = np.cumsum(blocks.counts("events")).tolist()
    allocation_ends = np.cumsum(blocks.counts("allocations")).tolist()
    timed = map(slice, [0, *event_ends], event_ends)
    used = map(slice, [0, *allocation_ends], allocation_ends)
    return [
        Iteration(events[own], names[own], allocations[spent], allocators[spent])
        for own, spent in zip(timed, used, strict=True)
    ]


def _texts(rows: Rows) -> list[str]:
    return [readable(cut_name(name)) for name in rows["name"].tolist()]


def _difference(base: Iteration, other: Iteration) -> str | None:
    """The first difference of two iterations of a block; None if they are equal."""
    if len(base.names) != len(other.names):
        return f"{len(base.names):,} and {len(other.names):,} events"
    for number, (one, two) in enumerate(zip(base.names, other.names, strict=True)):
        if one != two:
            return f"event {number} is '{one}' and '{two}'"
    if len(base.allocations) != len(other.allocations):
        return f"{len(base.allocations):,} and {len(other.allocations):,} allocations"
    for number in np.flatnonzero(base.allocations != other.allocations).tolist():
        (id_, size), (other_id, other_size) = base.allocations[number], other.allocations[number]
        return (
            f"allocation {number} is {size:,} bytes of allocator {id_} "
            f"and {other_size:,} of allocator {other_id}"
        )
    return None


@dataclass
class ProfileEvent:
    """One event of a block name.

    Attributes:
        name: Its name.
        ts: Start in each iteration.
        duration: End minus start in each iteration, as logged: below 0 if the end came first.
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
    events: list[ProfileEvent]
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
            ProfileEvent(
                event,
                [time_scale.convert(ticks) for ticks in start],
                [time_scale.convert(ticks) for ticks in duration],
                chain,
                instruction,
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
    events = {block.name: block.events for block in blocks}
    memory = {
        block.name: [MemEvent(total.allocator, total.total_bytes) for total in block.memory]
        for block in blocks
    }
    return events, memory


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
            f"start ({unit})": _times([event.ts[i] for _, i, event in rows]),
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


def _event_columns(events: Sequence[ProfileEvent]) -> dict[str, pa.Array]:
    return {
        "name": pa.array([event.name for event in events], pa.string()),
        "chain_index": pa.array([event.chain_idx for event in events], pa.int64()),
        "instruction_id": pa.array([event.instruction_idx for event in events], pa.int64()),
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
        "profile": {block.name: [_event_json(event) for event in block.events] for block in blocks},
        "memory": {block.name: [total._asdict() for total in block.memory] for block in blocks},
        "framework_tax": {
            block.name: block.framework_tax._asdict() for block in blocks if block.framework_tax
        },
    }


def _event_json(event: ProfileEvent) -> dict[str, Any]:
    return {
        "name": event.name,
        "chain_index": event.chain_idx,
        "instruction_id": event.instruction_idx,
        "start": event.ts,
        "duration": event.duration,
    }
