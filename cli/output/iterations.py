"""Progress of a program that is being recorded; without rich, which costs more time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int], None]


@contextmanager
def iteration_line(iterations: int, place: str = "") -> Iterator[Progress | None]:
    """Yield a callback that prints the iterations done on standard error; None without a terminal.

    Args:
        iterations: Total number of iterations.
        place: Prefix of the line, which identifies one of several runs.
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
    """Overwrite the current line."""
    sys.stderr.write(f"\r{text}\x1b[K")
    sys.stderr.flush()
