"""Ctrl-C in the middle of a long command: the process ends at once, and says what is done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.output.streams import write_note

if TYPE_CHECKING:
    from cli.output.progress import FileProgress


Report = Callable[["FileProgress"], None]


@contextmanager
def interruptible_progress(bar: Report | None) -> Iterator[Report]:
    """What to call with each progress, which the bar shows if there is one.

    If Ctrl-C ends the process meanwhile, a line on standard error says how far it had come.
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
        return f"stopped: {done} done; the same command again does the rest, and nothing twice"

    with note_if_interrupted(describe):
        yield report


@contextmanager
def note_if_interrupted(describe: Callable[[], str]) -> Iterator[None]:
    """If Ctrl-C ends the process during the body, a line on standard error says what is done.

    A thread waits for the signal: the main one may be in the middle of a long statement of DuckDB.
    Where Ctrl-C does not end the process, as in the background, nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, lambda *_: None)  # the number goes to the pipe all the same
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reader, describe), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(writer)


def _wait(reader: int, describe: Callable[[], str]) -> None:
    """End the process when the number of a signal comes; return when none can come any more."""
    while number := os.read(reader, 1):
        if number[0] == signal.SIGINT:
            write_note(describe())
            _end()
    os.close(reader)


def _end() -> None:
    """End the process as Ctrl-C does, from whatever thread."""
    import ctypes

    ctypes.pythonapi.PyOS_setsig(signal.SIGINT, None)  # SIG_DFL, which only the main thread may set
    os.kill(os.getpid(), signal.SIGINT)
