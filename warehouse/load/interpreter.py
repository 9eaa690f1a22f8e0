"""How Python itself is set while dumps are decoded and committed in threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TURN_SECONDS = 0.0005  # a tenth of what Python would grant


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the garbage collector from looking through all objects again and again.

    The caller collects the new objects after each group. A collector that was already off stays
    off.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Have a thread that computes let others in sooner.

    Those that commit or read wait for DuckDB and the disk, again and again; each time they would
    wait for their turn, too. ConcurrencyLimit that are as short already stay so.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
