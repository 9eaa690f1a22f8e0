"""Questions that are interrupted when they take too long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from warehouse.errors import QueryError, SlowAnswerError, WarehouseError

_INTERRUPTED = (QueryError, WarehouseError)  # what an interrupt comes out as
_PAUSE = 0.05  # seconds from one interrupt to the next: each stops only what runs just then


@contextmanager
def within(seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` after so many seconds, and again until the body ends.

    Raises:
        SlowAnswerError: The body failed after that.
    """
    has_ended, is_late = threading.Event(), threading.Event()

    def watch() -> None:
        if not has_ended.wait(seconds):
            is_late.set()
            while not has_ended.wait(_PAUSE):
                interrupt()

    watcher = threading.Thread(target=watch, name="deadline")
    watcher.start()
    try:
        yield
    except _INTERRUPTED as error:
        if is_late.is_set():
            raise SlowAnswerError(seconds) from error
        raise
    finally:
        has_ended.set()
        watcher.join()
