"""Time spent in a module of the program, from event blocks with an ETRecord. Pure.

A module's time in a block is, per run, the time of the kernels and delegates that run its nodes.
An event that runs nodes of several modules counts in full for each. Framework events around kernels
(OPERATOR_CALL, Method::step) never count. Of the call of a delegate and the events inside it never
both count: the call, if all its nodes are in the module; else the events inside it that run nodes
of the module, if the ETRecord can tell the nodes of any; else the call, if some of its nodes are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from queries.event_blocks import Event, EventBlock
from queries.time_scales import TimeScale
from warehouse.correlation import Hierarchy
from warehouse.errors import QueryError

ALL_BLOCKS = "(all)"

_MOST_LISTED = 100
_ROOT_KEY = "L__self__"

IsInside = Callable[[Hierarchy | None], bool]


class ModuleTotal(NamedTuple):
    """Time of a module in one block, in the target time scale, per run.

    Attributes:
        event_block_name: Name of the block.
        bundled_input_index: Its bundled input; -1 when there is none.
        event_count: Events that count.
        total: Sum of their average times per run.
    """

    event_block_name: str | None
    bundled_input_index: int
    event_count: int
    total: float


def module_totals(
    blocks: Iterable[EventBlock], path: str, *, is_exact: bool = False
) -> list[ModuleTotal]:
    """The time of a module in each block.

    Args:
        blocks: Event blocks with an ETRecord; without one no event is in a module.
        path: The module: its path ("layers.0.attention"; "" is the whole program) or the key that
            the Inspector knows it by ("L__self__layers.0.attention", "L__self__").
        is_exact: Whether to leave out modules inside it.
    """

    inner_path = re.sub(f"^({_ROOT_KEY})+", "", path)

    def is_inside(hierarchy: Hierarchy | None) -> bool:
        names = [(key, *module[:1]) for key, module in (hierarchy or {}).items()]
        if is_exact:
            return bool(names) and bool({path, inner_path} & set(names[-1]))
        return any(
            key == path or any(_is_below(known, inner_path) for known in paths)
            for key, *paths in names
        )

    totals = []
    for block in blocks:
        times = [_time(event) for event in _counted(block.events, is_inside)]
        totals.append(
            ModuleTotal(block.name, block.bundled_input_index, len(times), sum(times, 0.0))
        )
    return totals


def module_paths(blocks: Iterable[EventBlock]) -> list[str]:
    """Paths of the modules that events of these blocks are in, but for the whole program's."""
    hierarchies = (
        hierarchy or {}
        for block in blocks
        for event in block.events
        for hierarchy in event.module_hierarchy.values()
    )
    modules = [module for hierarchy in hierarchies for module in hierarchy.values()]
    return sorted({path for path, *_ in filter(None, modules)} - {""})


def module_total_table(
    blocks: Sequence[EventBlock], path: str, *, is_exact: bool, unit: TimeScale
) -> pa.Table:
    """One row per block in which the module takes time, and one named ALL_BLOCKS with their sum.

    Raises:
        QueryError: if no event is in the module.
    """
    rows = [row for row in module_totals(blocks, path, is_exact=is_exact) if row.event_count]
    if not rows:
        raise QueryError(f"module '{path}': no event of this dump is in it; {_known(blocks)}")
    rows.append(
        ModuleTotal(ALL_BLOCKS, -1, sum(r.event_count for r in rows), sum(r.total for r in rows))
    )
    return pa.table(
        {
            "event_block_name": pa.array([row.event_block_name for row in rows], pa.string()),
            "bundled_input_index": pa.array([row.bundled_input_index for row in rows], pa.int32()),
            "event_count": pa.array([row.event_count for row in rows], pa.int64()),
            f"total ({unit})": pa.array([row.total for row in rows], pa.float64()),
        }
    )


def _known(blocks: Sequence[EventBlock]) -> str:
    paths = module_paths(blocks)
    if not paths:
        return "without the dump's ETRecord, or with one that names no modules, none is known"
    more = len(paths) - _MOST_LISTED
    return f"there are {', '.join(paths[:_MOST_LISTED])}" + (f" and {more:,} more" * (more > 0))


def _is_below(path: str, module: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")


def _counted(events: Iterable[Event], is_inside: IsInside) -> Iterator[Event]:
    """The events that count for a module."""
    timed = [event for event in events if event.samples and event.samples.statistics]
    yield from (event for event in timed if event.kind == "kernel" and _some(event, is_inside))
    delegated = [event for event in timed if event.kind in ("delegate_call", "delegate_op")]
    delegated.sort(key=lambda event: event.instruction_id)
    for _, group in groupby(delegated, key=lambda event: event.instruction_id):
        yield from _counted_of_call(list(group), is_inside)


def _counted_of_call(events: Sequence[Event], is_inside: IsInside) -> list[Event]:
    """Of the call of a delegate and the events inside it, those that count."""
    calls = [event for event in events if event.kind == "delegate_call"]
    inner = [event for event in events if event.kind == "delegate_op"]
    is_mapped = any(event.debug_handles is not None for event in inner)
    nodes = [node for call in calls for node in call.module_hierarchy.values()]
    counted = inner if is_mapped and not (nodes and all(map(is_inside, nodes))) else calls or inner
    return [event for event in counted if _some(event, is_inside)]


def _some(event: Event, is_inside: IsInside) -> bool:
    return any(map(is_inside, event.module_hierarchy.values()))


def _time(event: Event) -> float:
    return (event.samples and event.samples.avg_per_run) or 0.0
