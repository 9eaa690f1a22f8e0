"""CPU that a tree of processes has used, also of those that ended and nobody waited for.

RequestLogMiddleware it takes some 2 % of a core, which counts too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE_SECONDS = 0.1


class _Process(NamedTuple):
    """One process of this machine: the time of its start tells it from others of its number."""

    pid: str
    parent: str
    started: str
    ticks: int


class TreeCpu:
    """What this process and all below it have used: who ended counts as last seen."""

    def __init__(self) -> None:
        """Nobody was seen yet."""
        self._ticks: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def seconds(self) -> float:
        """CPU seconds so far; never fewer than before."""
        with self._lock:
            own = {str(os.getpid())}
            left = _read_processes()
            while found := [one for one in left if self._is_known(one) or {*one[:2]} & own]:
                own |= {one.pid for one in found}
                self._ticks.update(((one.pid, one.started), one.ticks) for one in found)
                left = [one for one in left if one.pid not in own]
            return sum(self._ticks.values()) / _TICKS

    def _is_known(self, process: _Process) -> bool:
        return (process.pid, process.started) in self._ticks


@contextmanager
def watched_tree() -> Iterator[TreeCpu]:
    """The tree of this process, looked at again and again in a thread."""
    tree, is_over = TreeCpu(), threading.Event()

    def watch() -> None:
        while not is_over.wait(_PAUSE_SECONDS):
            tree.seconds()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield tree
    finally:
        is_over.set()
        thread.join()


def _read_processes() -> list[_Process]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        ticks = int(fields[11]) + int(fields[12])  # without those of its children
        found.append(_Process(pid, fields[1].decode(), fields[19].decode(), ticks))
    return found
