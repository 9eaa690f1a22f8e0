"""A spinner that shows what a command is doing, and for how long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def elapsed_line(doing: str) -> Iterator[None]:
    """Show a spinner on standard error during the body, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from tracehouse.cli.output.progress import ErrorConsole

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=ErrorConsole(stderr=True), transient=True) as line:
        line.add_task(doing, total=None)
        yield
