"""Settings of the Python interpreter while dumps are decoded and committed in threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SWITCH_SECONDS = 0.0005  # a tenth of Python's default


@contextmanager
def tuned_interpreter() -> Iterator[None]:
    """Pause the garbage collector and shorten the switch interval until the body ends.

    The collector would scan all objects again and again; the caller collects new objects after
    each group instead. Threads that commit or read wait for DuckDB and the disk many times, and
    each time they would also wait for a thread that computes. A collector that is already off
    stays off, and an interval that is already shorter stays as it is.
    """
    is_collecting, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(min(interval, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if is_collecting:
            gc.enable()
