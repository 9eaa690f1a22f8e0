"""Processes that are killed at a failpoint."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from tracehouse.warehouse.engine.failpoints import VARIABLE


def kill_at(point: str, action: Callable[[], object]) -> None:
    """Run an action in another process, which must reach that point and be killed there."""
    child = os.fork()
    if not child:
        os.environ[VARIABLE] = point
        try:
            action()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
