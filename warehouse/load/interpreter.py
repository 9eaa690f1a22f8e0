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

    The collector would scan all objects repeatedly; the caller collects new objects after each
    group instead. Threads that commit or read often wait for DuckDB and the disk, and would then
    also wait for a computing thread. A disabled collector stays disabled, and a shorter interval
    stays.
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
