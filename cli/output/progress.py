"""Progress of long work on a terminal, and how an interrupt ends it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tracehouse.cli.output.streams import write_note


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


Report = Callable[[FileProgress], None]


@contextmanager
def interruptible_bar(*, is_quiet: bool = False, has_events: bool = True) -> Iterator[Report]:
    """Yield a callback for progress, which updates a bar; see `progress_bar`.

    If Ctrl-C ends the process during the body, a line on standard error says how far it got.
    """
    last: list[FileProgress] = []

    def report(progress: FileProgress) -> None:
        last[:] = [progress]
        if bar is not None:
            bar(progress)

    def describe() -> str:
        done = (
            f"{last[0].done_files:,} of {last[0].total_files:,} files are" if last else "no file is"
        )
        return f"stopped: {done} done; run the same command again to do the rest"

    with (
        progress_bar(is_quiet=is_quiet, has_events=has_events) as bar,
        note_if_interrupted(describe),
    ):
        yield report


@contextmanager
def note_if_interrupted(describe: Callable[[], str]) -> Iterator[None]:
    """Print `describe()` on standard error if Ctrl-C ends the process during the body.

    A thread waits for the signal, as the main thread may be busy with a long statement of DuckDB.
    If Ctrl-C does not end the process, for example in the background, nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, lambda *_: None)  # the pipe receives the number anyway
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reader, describe), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(writer)


def _wait(reader: int, describe: Callable[[], str]) -> None:
    """End the process when the pipe delivers SIGINT; return when the pipe is closed."""
    while number := os.read(reader, 1):
        if number[0] == signal.SIGINT:
            write_note(describe())
            _end()
    os.close(reader)


def _end() -> None:
    """End the process as Ctrl-C does, from any thread."""
    import ctypes

    ctypes.pythonapi.PyOS_setsig(signal.SIGINT, None)  # SIG_DFL, which only the main thread may set
    os.kill(os.getpid(), signal.SIGINT)
