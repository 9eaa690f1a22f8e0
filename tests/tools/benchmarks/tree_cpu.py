"""CPU time of a tree of processes, also of those that ended and that no process waited for.

Looking at the tree takes some 2 % of a core, which counts too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.processes import list_processes
from tests.support.waiting import repeating
from tests.tools.benchmarks.cost import Cost

_PAUSE_SECONDS = 0.1


class TreeCpu:
    """CPU time of this process and all below it; one that ended counts as last seen."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, int], float] = {}  # by number and start
        self._lock = threading.Lock()

    def seconds(self) -> float:
        """CPU seconds so far; never fewer than before."""
        with self._lock:
            tree, left = {os.getpid()}, list(list_processes())
            while found := [p for p in left if p[:2] in self._seconds or {p.pid, p.parent} & tree]:
                tree |= {process.pid for process in found}
                self._seconds |= {process[:2]: process.cpu_seconds for process in found}
                left = [process for process in left if process.pid not in tree]
            return sum(self._seconds.values())

    def start(self) -> Callable[[], Cost]:
        """Begin to measure: calling what this returns gives the cost since then."""
        wall, cpu = time.perf_counter(), self.seconds()
        return lambda: Cost(time.perf_counter() - wall, self.seconds() - cpu)


@contextmanager
def watched_tree() -> Iterator[TreeCpu]:
    """The tree of this process, looked at again and again in a thread."""
    tree = TreeCpu()
    with repeating(tree.seconds, _PAUSE_SECONDS):
        yield tree
