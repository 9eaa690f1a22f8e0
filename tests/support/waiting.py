"""Waiting for what another process does, not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_SECONDS = 120.0


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, and fail if it is not so for long."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)
