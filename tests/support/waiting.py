"""Waiting for another process, with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_SECONDS = 120.0


def until(is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds, and fail after a while."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)
