"""What a child lets itself be bound by."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys

_PAGE_BYTES = resource.getpagesize()
_NICENESS = 5  # more than of its owner: where both want to compute, the owner has three quarters


def tie_to_owner() -> None:
    """Let the kernel end this process when the other end of its standard input is closed.

    Nothing is ever written there. A keyboard's interrupt is for the owner, who then closes it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    owner = sys.stdin.fileno()
    fcntl.fcntl(owner, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(owner, fcntl.F_SETFL, fcntl.fcntl(owner, fcntl.F_GETFL) | os.O_ASYNC)


def leave_no_core() -> None:
    """Leave no image of memory behind."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def let_owner_go_first() -> None:
    """Compute less while its owner does, and more while the owner waits."""
    os.nice(_NICENESS)


def count_data() -> int | None:
    """Bytes of memory that count as data now; None where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * _PAGE_BYTES
    except OSError:
        return None


def limit_data(most_bytes: int) -> None:
    """Let memory run out where this much is data."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, hard))
