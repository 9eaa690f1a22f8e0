"""Deadlines of queries: a query that takes too long is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tracehouse.warehouse.errors import QueryError, SlowAnswerError, WarehouseError

_INTERRUPTED = (QueryError, WarehouseError)  # errors that an interrupt causes
_PAUSE = 0.05  # seconds between interrupts, each of which stops only the current statement


@contextmanager
def within(
    seconds: float | None, interrupt: Callable[[], None], stop: threading.Event | None = None
) -> Iterator[None]:
    """Call `interrupt` after `seconds`, if any, or a `stop`, and repeatedly until the body ends.

    The end of the body sets `stop`, too.

    Raises:
        SlowAnswerError: The body failed after an interrupt.
    """
    has_ended, is_late, wake = threading.Event(), threading.Event(), stop or threading.Event()

    def watch() -> None:
        wake.wait(seconds)
        if not has_ended.is_set():
            is_late.set()
            while not has_ended.wait(_PAUSE):
                interrupt()

    watcher = threading.Thread(target=watch, name="deadline")
    watcher.start()
    try:
        yield
    except _INTERRUPTED as error:
        if is_late.is_set():
            raise SlowAnswerError(seconds or 0.0) from error
        raise
    finally:
        has_ended.set()
        wake.set()
        watcher.join()
