"""Memory over time."""

from __future__ import annotations

from tests.support.timelines import Spec, allocation, event, timed_dump
from tracehouse.queries.timeline.perfetto import AllocatedBytes, sum_allocations
from tracehouse.queries.timeline.slices import lay_out_runs


def _allocated(*runs: list[Spec]) -> dict[int, list[AllocatedBytes]]:
    shown = lay_out_runs(timed_dump(*runs))
    return sum_allocations(shown.dump.tables, shown.runs)


def test_an_allocation_comes_after_the_event_that_is_written_before_it() -> None:
    run = [
        allocation(100), event("a", 5, 10), allocation(20), allocation(3, 2), event("b", 12, 20),
        allocation(4),
    ]  # fmt: skip
    assert _allocated(run) == {0: [
        ("arena", 0, 0), ("arena", 0, 100), ("arena", 5, 120), ("allocator 2", 0, 0),
        ("allocator 2", 5, 3), ("arena", 15, 124),
    ]}  # fmt: skip


def test_each_run_begins_with_nothing() -> None:
    runs = _allocated([event("a", 0, 5), allocation(7)], [event("a", 10, 15), allocation(8)])
    assert [[one.total_bytes for one in run] for run in runs.values()] == [[0, 7], [0, 8]]
    assert runs[1][0].at_ns == 10


def test_a_run_without_allocations_has_no_allocations() -> None:
    assert _allocated([event("a", 0, 5), allocation(7)], [event("a", 10, 15)]).keys() == {0}
