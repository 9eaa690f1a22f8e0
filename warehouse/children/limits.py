"""Limits that a child process sets itself."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys

_PAGE_BYTES = resource.getpagesize()
_NICENESS = 5  # relative to its owner, which gets three quarters of a contested core


def tie_to_owner() -> None:
    """Let the kernel kill this process when the other end of its standard input is closed.

    The owner never writes to that pipe; closing it stops the child. The owner handles Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    owner = sys.stdin.fileno()
    fcntl.fcntl(owner, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(owner, fcntl.F_SETFL, fcntl.fcntl(owner, fcntl.F_GETFL) | os.O_ASYNC)


def disable_core_dumps() -> None:
    """Disable core dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def lower_priority() -> None:
    """Lower this process's priority below its owner's."""
    os.nice(_NICENESS)


def count_data() -> int | None:
    """Bytes of memory that count as data at present; None on systems without /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * _PAGE_BYTES
    except OSError:
        return None


def limit_data(most_bytes: int | None) -> None:
    """Let allocations fail beyond this many bytes of data; None removes the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard if most_bytes is None else most_bytes, hard))
