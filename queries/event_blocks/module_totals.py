"""Time spent in a module of the program, from event blocks with an ETRecord. Pure.

`warehouse.programs.event_modules` decides which events count for a module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.queries.event_blocks.blocks import Event, EventBlock
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import Hierarchy
from tracehouse.warehouse.programs.event_modules import (
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
        bundled_input_index: Bundled input of the block; -1 without one.
        event_count: Events that count for the module.
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
        path: The module's path ("layers.0.attention"; "" for the whole program) or its key in the
            Inspector ("L__self__layers.0.attention", "L__self__"). Repeated calls of a module have
            different keys but one path; a key selects only its own nodes.
        is_exact: Whether to leave out nested modules.
    """
    blocks = [*blocks]
    hierarchies = _hierarchies(blocks)
    if any(path in hierarchy for hierarchy in hierarchies):
        is_inside = partial(_has_key, key=path, is_exact=is_exact)
    else:  # the key may also belong to a module that contains nodes but is never called itself
        inner_path = re.sub(f"^({_ROOT_KEY})+", "", path)
        is_inside = partial(_has_path, path=inner_path, is_exact=is_exact)
    totals = []
    for block in blocks:
        times = [event.avg_per_run or 0.0 for event in _select_counted(block.events, is_inside)]
        index = -1 if block.bundled_input_index is None else block.bundled_input_index
        totals.append(ModuleTotal(block.name, index, len(times), sum(times, 0.0)))
    return totals


def _has_key(hierarchy: Hierarchy | None, *, key: str, is_exact: bool) -> bool:
    keys = [*(hierarchy or {})]
    return key in (keys[-1:] if is_exact else keys)


def _has_path(hierarchy: Hierarchy | None, *, path: str, is_exact: bool) -> bool:
    paths = [known for known, *_ in filter(None, (hierarchy or {}).values())]
    if is_exact:
        return path in paths[-1:]
    return any(path in modules_above(known) for known in paths)


def _hierarchies(blocks: Iterable[EventBlock]) -> list[Mapping[str, Sequence[str]]]:
    """Modules by key of each node of the events of these blocks."""
    found = (node for block in blocks for e in block.events for node in e.module_hierarchy.values())
    return [*filter(None, found)]


def module_paths(blocks: Iterable[EventBlock]) -> list[str]:
    """Paths of the modules of these blocks' events, without the whole program's."""
    modules = [module for hierarchy in _hierarchies(blocks) for module in hierarchy.values()]
    return sorted({path for path, *_ in filter(None, modules)} - {""})


def module_total_table(
    blocks: Sequence[EventBlock], path: str, *, is_exact: bool, unit: TimeScale
) -> pa.Table:
    """One row per block in which the module has time, and one named ALL_BLOCKS with the sum.

    Raises:
        QueryError: No event is in the module.
    """
    rows = [row for row in module_totals(blocks, path, is_exact=is_exact) if row.event_count]
    if not rows:
        raise QueryError(
            f"module '{path}': no event of this dump is in it; {_list_known_modules(blocks)}"
        )
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


def _list_known_modules(blocks: Sequence[EventBlock]) -> str:
    paths = module_paths(blocks)
    if not paths:
        return "no module is known; pass the dump's ETRecord with --etrecord"
    more = len(paths) - _MOST_LISTED
    return f"known modules: {', '.join(paths[:_MOST_LISTED])}" + (
        f" and {more:,} more" * (more > 0)
    )


def _select_counted(events: Iterable[Event], is_inside: IsInside) -> Iterator[Event]:
    timed: list[Any] = [event for event in events if event.perf_data and event.perf_data.raw]
    for group in groups_of_instruction(timed):
        yield from counted_of_group(group, is_inside)
