"""Memory that a run allocated, over time. Pure.

A dump does not tell when: only between which of its events. An event is written as it ends, so an
allocation came after the end of the event before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from queries.timeline.slices import TimedRun

if TYPE_CHECKING:
    import pyarrow as pa


class Allocated(NamedTuple):
    """What a run had allocated of an allocator from a time on.

    Attributes:
        allocator: Its name, else its number.
        at_ns: The time, on the axis.
        total_bytes: Sum of the run's allocations so far.
    """

    allocator: str
    at_ns: int
    total_bytes: int


def allocated_bytes(tables: Mapping[str, pa.Table], run: TimedRun) -> Iterator[Allocated]:
    """The sums of a run's allocations, in file order; each begins with 0 where the run does."""
    table = tables["allocations"]
    if not table.num_rows:
        return
    rows = table.filter(pc.equal(table["run_index"], run.index)).to_pylist()
    values = tables["debug_values"]
    logged = values.filter(pc.equal(values["run_index"], run.index))["event_index"].to_pylist()
    others = sorted({*logged, *(row["event_index"] for row in rows)})
    ends = sorted(run.ends_ns)
    sums: dict[str, int] = {}
    for row in rows:
        name = row["allocator"] or f"allocator {row['allocator_id']}"
        if name not in sums:
            yield Allocated(name, run.starts_ns[0], 0)
        sums[name] = sums.get(name, 0) + int(row["bytes"])
        before = row["event_index"] - others.index(row["event_index"])
        at = ends[min(before, len(ends)) - 1] if before else run.starts_ns[0]
        yield Allocated(name, at, sums[name])
