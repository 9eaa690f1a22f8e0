"""How far something that handles many files has come, for whoever watches it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)


class FileProgress(Protocol):
    """What a bar shows."""

    @property
    def done_files(self) -> int:
        """Files handled."""

    @property
    def total_files(self) -> int:
        """Files in all."""

    @property
    def n_events(self) -> int:
        """Events in the files handled."""


class ErrorConsole(Console):
    """Standard error, whose cursor stays: Ctrl-C ends the process before a bar could restore it."""

    def show_cursor(self, show: bool = True) -> bool:
        """Leave it as it is."""
        return False


@contextmanager
def progress_bar(
    *, is_quiet: bool = False, unit: str = "files", has_events: bool = True
) -> Iterator[Callable[[FileProgress], None] | None]:
    """What to call with each progress: a bar on standard error.

    It is None if that is no terminal, or if nobody wants it.
    """
    if is_quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit + ", {task.fields[n_events]:,} events" * has_events),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ErrorConsole(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, n_events=0)
        yield lambda done: bar.update(
            task, completed=done.done_files, total=done.total_files, n_events=done.n_events
        )
