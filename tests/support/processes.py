"""Processes of this machine, as Linux shows them in /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """One process.

    Attributes:
        pid: Its id.
        started: When it started, in ticks, which distinguishes it from an earlier process of its
            id.
        parent: The process that started it.
        session: Its session.
        cpu_seconds: Its own CPU time.
        children_seconds: CPU time of its children that it waited for.
        is_zombie: Whether it has ended.
    """

    pid: int
    started: int
    parent: int
    session: int
    cpu_seconds: float
    children_seconds: float
    is_zombie: bool


def read_process(pid: int) -> Process | None:
    """A process; None if it does not exist."""
    if not (stat := _read(pid, "stat")):
        return None
    state, *rest = stat.rpartition(")")[2].split()
    numbers = [int(field) for field in rest[:19]]
    own, children = sum(numbers[10:12]) / _TICKS, sum(numbers[12:14]) / _TICKS
    return Process(pid, numbers[18], numbers[0], numbers[2], own, children, state == "Z")


def list_processes() -> Iterator[Process]:
    """All processes, zombies too."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        if process := read_process(int(name)):
            yield process


def memory_bytes(pid: int, kind: str) -> int:
    """Memory of a process by a line of /proc/PID/status; 0 if it has ended."""
    found = re.search(rf"^{kind}:\s+(\d+) kB", _read(pid, "status"), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def command_line(pid: int) -> str:
    """The arguments of a process, with zeros between them; "" if it has ended."""
    return _read(pid, "cmdline")


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
