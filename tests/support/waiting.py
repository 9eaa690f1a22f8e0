"""Waiting for another process, with a limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DEADLINE_SECONDS = 120.0


def until(is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds, and fail after a while."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


@contextmanager
def repeating(action: Callable[[], object], pause: float) -> Iterator[None]:
    """Until the body ends, do something again and again in a thread, with pauses in seconds."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(pause):
            action()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
