"""Processes that are made to be killed, and what became of them."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable

from tracehouse.warehouse.errors import StoreError

LONGEST_HANG = 60  # seconds
BAD_ENDS = frozenset({"failed", "hung", "broken"})
_SIGNALS: dict[int, str] = {
    signal.SIGKILL: "killed",
    signal.SIGXFSZ: "killed",
    signal.SIGALRM: "hung",
}
_STATUSES = {0: "done", 2: "failed"}


def fork(action: Callable[[], None]) -> int:
    """A process that does something, and ends with 2 where that raises a StoreError."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(LONGEST_HANG)
        action()
        status = 0
    except StoreError:
        status = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait(child: int) -> str:
    """What became of a process: done, killed, failed (a StoreError), hung or broken."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return _SIGNALS.get(os.WTERMSIG(status), "broken")
    return _STATUSES.get(os.WEXITSTATUS(status), "broken")


def kill_after(seconds: float, action: Callable[[], None]) -> str:
    """What became of a process that does something and is killed after a time."""
    child = fork(action)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return wait(child)
