"""Processes that are made to be killed, and what became of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

LONGEST_HANG = 60  # seconds


def fork(action: Callable[[], None]) -> int:
    """The process that does it."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(LONGEST_HANG)
        action()
        status = 0
    finally:
        os._exit(status)


def wait(child: int) -> str:
    """What became of it: done, killed, hung or broken."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed" if os.WTERMSIG(status) == signal.SIGKILL else "hung"
    return "broken" if os.WEXITSTATUS(status) else "done"
