"""Time spent in a module of the program, from event blocks with an ETRecord. Pure.

A module's time in a block is, per run, the time of the events that count for it, by the rule of
`warehouse.programs.event_modules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from queries.event_blocks.blocks import BuiltBlock, BuiltEvent
from queries.event_blocks.time_scales import TimeScale
from warehouse.errors import QueryError
from warehouse.programs.correlation import Hierarchy
from warehouse.programs.event_modules import (
    IsInside,
    counted_of_group,
    groups_of_instruction,
    modules_above,
)

ALL_BLOCKS = "(all)"

_MOST_LISTED = 100
_ROOT_KEY = "L__self__"


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
    blocks: Iterable[BuiltBlock], path: str, *, is_exact: bool = False
) -> list[ModuleTotal]:
    """The time of a module in each block.

    Args:
        blocks: Event blocks with an ETRecord; without one no event is in a module.
        path: The module: its path ("layers.0.attention"; "" is the whole program) or the key that
            the Inspector knows it by ("L__self__layers.0.attention", "L__self__"). Several keys
            can have one path, as those of repeated calls do; a key means its own nodes alone.
        is_exact: Whether to leave out modules inside it.
    """
    blocks = [*blocks]
    hierarchies = _hierarchies(blocks)
    if any(path in hierarchy for hierarchy in hierarchies):
        is_inside = partial(_has_key, key=path, is_exact=is_exact)
    else:  # a key may also be of a module that nodes lie in, but that is never called itself
        inner_path = re.sub(f"^({_ROOT_KEY})+", "", path)
        is_inside = partial(_has_path, path=inner_path, is_exact=is_exact)
    totals = []
    for block in blocks:
        times = [_time(event) for event in _counted(block.events, is_inside)]
        totals.append(
            ModuleTotal(block.name, block.bundled_input_index, len(times), sum(times, 0.0))
        )
    return totals


def _has_key(hierarchy: Hierarchy | None, *, key: str, is_exact: bool) -> bool:
    keys = [*(hierarchy or {})]
    return key in (keys[-1:] if is_exact else keys)


def _has_path(hierarchy: Hierarchy | None, *, path: str, is_exact: bool) -> bool:
    paths = [known for known, *_ in filter(None, (hierarchy or {}).values())]
    if is_exact:
        return path in paths[-1:]
    return any(path in modules_above(known) for known in paths)


def _hierarchies(blocks: Iterable[BuiltBlock]) -> list[Hierarchy]:
    """Modules by key of each node of the events of these blocks."""
    found = (node for block in blocks for e in block.events for node in e.module_hierarchy.values())
    return [*filter(None, found)]


def module_paths(blocks: Iterable[BuiltBlock]) -> list[str]:
    """Paths of the modules that events of these blocks are in, but for the whole program's."""
    modules = [module for hierarchy in _hierarchies(blocks) for module in hierarchy.values()]
    return sorted({path for path, *_ in filter(None, modules)} - {""})


def module_total_table(
    blocks: Sequence[BuiltBlock], path: str, *, is_exact: bool, unit: TimeScale
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


def _known(blocks: Sequence[BuiltBlock]) -> str:
    paths = module_paths(blocks)
    if not paths:
        return "without the dump's ETRecord, or with one that names no modules, none is known"
    more = len(paths) - _MOST_LISTED
    return f"there are {', '.join(paths[:_MOST_LISTED])}" + (f" and {more:,} more" * (more > 0))


def _counted(events: Iterable[BuiltEvent], is_inside: IsInside) -> Iterator[BuiltEvent]:
    """The events that count for a module."""
    timed = [event for event in events if event.samples and event.samples.statistics]
    for group in groups_of_instruction(timed):
        yield from counted_of_group(group, is_inside)


def _time(event: BuiltEvent) -> float:
    return (event.samples and event.samples.avg_per_run) or 0.0
