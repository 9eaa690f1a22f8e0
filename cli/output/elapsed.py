"""What a command is at, and for how long, for whoever waits for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def elapsed_line(doing: str) -> Iterator[None]:
    """Until the body ends, a line on standard error; nothing if that is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from cli.output.progress import ErrorConsole

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=ErrorConsole(stderr=True), transient=True) as line:
        line.add_task(doing, total=None)
        yield
