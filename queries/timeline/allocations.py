"""Memory that a run allocated, over time. Pure.

A dump has no times of allocations, only their order among events. Events are written when they end,
so an allocation came after the end of the event before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.queries.timeline.slices import TimedRun

if TYPE_CHECKING:
    import pyarrow as pa


class AllocatedBytes(NamedTuple):
    """Memory that a run had allocated from an allocator at a time."""

    allocator: str
    at_ns: int
    total_bytes: int


def allocated_bytes(
    tables: Mapping[str, pa.Table], runs: Sequence[TimedRun]
) -> dict[int, list[AllocatedBytes]]:
    """Cumulative allocations by position of the run, in file order, from 0 at the run's start.

    Runs without allocations are left out.
    """
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    others: dict[int, set[int]] = defaultdict(set)  # events of a run that are not profile events
    for row in tables["allocations"].to_pylist():
        rows[row["run_index"]].append(row)
        others[row["run_index"]].add(row["event_index"])
    if rows:
        for row in tables["debug_values"].select(["run_index", "event_index"]).to_pylist():
            others[row["run_index"]].add(row["event_index"])
    return {
        run.index: list(_sums(run, rows[run.index], sorted(others[run.index])))
        for run in runs
        if run.index in rows
    }


def _sums(
    run: TimedRun, rows: Sequence[Mapping[str, Any]], others: Sequence[int]
) -> Iterator[AllocatedBytes]:
    ends = sorted(run.ends_ns)
    sums: dict[str, int] = {}
    for row in rows:
        name = row["allocator"] or f"allocator {row['allocator_id']}"
        if name not in sums:
            yield AllocatedBytes(name, run.starts_ns[0], 0)
        sums[name] = sums.get(name, 0) + int(row["bytes"])
        before = row["event_index"] - bisect_left(others, row["event_index"])
        at = ends[min(before, len(ends)) - 1] if before else run.starts_ns[0]
        yield AllocatedBytes(name, at, sums[name])
