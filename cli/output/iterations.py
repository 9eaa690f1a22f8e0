"""How far a run of a program has come, for whoever watches it; without rich, which costs more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int], None]


@contextmanager
def iteration_line(iterations: int, place: str = "") -> Iterator[Progress | None]:
    """What to call with the iterations done: a line on standard error, None if no terminal.

    Args:
        iterations: How many there are to be.
        place: What the line begins with, to tell one run of several from the others.
    """
    if not sys.stderr.isatty():
        yield None
        return
    _write_over(f"{place}starting ExecuTorch ...")
    try:
        yield lambda done: _write_over(f"{place}{done:,}/{iterations:,} iterations")
    finally:
        _write_over("")


def _write_over(text: str) -> None:
    """Replace what the last line says."""
    sys.stderr.write(f"\r{text}\x1b[K")
    sys.stderr.flush()
