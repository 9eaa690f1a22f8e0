"""A profiler blob -> the iterations of each block name, checked to be equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracehouse.ingest.profiler_blob.blocks import (
    Blocks,
    Rows,
    cut_name,
    decode_profiler_blob,
    find_allocators,
)
from tracehouse.ingest.tables.arrow_columns import readable
from tracehouse.warehouse.errors import QueryError


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
