"""A progress bar for commands that process many files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class FileProgress(Protocol):
    """Progress that a bar can show."""

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
    """A console that never hides the cursor, which Ctrl-C could not restore."""

    def show_cursor(self, show: bool = True) -> bool:
        """Do nothing."""
        return False


@contextmanager
def progress_bar(
    *, is_quiet: bool = False, unit: str = "files", has_events: bool = True
) -> Iterator[Callable[[FileProgress], None] | None]:
    """Yield a callback that updates a bar on standard error; None if quiet or not a terminal."""
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
