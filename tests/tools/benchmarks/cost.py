"""What an action costs: wall and CPU seconds. Standard library only: any environment runs it."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds by the clock on the wall, and of CPU: all threads, and child processes that ended."""

    wall: float
    cpu: float


def measure(action: Callable[[], object]) -> Cost:
    """The cost of one call."""
    wall, cpu = time.perf_counter(), _cpu_seconds()
    action()
    return Cost(time.perf_counter() - wall, _cpu_seconds() - cpu)


def cheapest(action: Callable[[], object], seconds: float = 2.0) -> Cost:
    """The least wall and the least CPU time of five calls, or as many as take that long."""
    costs: list[Cost] = []
    while len(costs) < 5 or sum(cost.wall for cost in costs) < seconds:
        costs.append(measure(action))
    return least(costs)


def least(costs: list[Cost]) -> Cost:
    """The least wall and the least CPU time."""
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs))


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
