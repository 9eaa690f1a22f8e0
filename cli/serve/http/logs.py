"""The log on standard error, and a thread that writes lines: no answer waits for a terminal."""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from queue import Empty, Full, Queue

from tracehouse.queries.printable import json_text, printable, shorten

_MOST_AT_ONCE = 1000
_RETRY_SECONDS = 1.0  # from a failure to the next try
_PAUSE = 0.05  # seconds to gather lines: waking a thread for each would delay the others

_STANDARD_ERROR = 2  # its file descriptor
_LONGEST_TEXT = 4000  # characters


class LineQueue:
    """Takes lines from any thread and writes them in order. Use as a context manager.

    Lines that cannot be written wait, and are tried again.

    Attributes:
        dropped: Number of lines dropped because the queue was full.
        problem: Why lines cannot be written now; empty if they can.
    """

    def __init__(
        self, write: Callable[[bytes], None], *, most: int = 10_000, patience: float = 30.0
    ) -> None:
        """Begin with an empty queue.

        Args:
            write: Writes lines, and may raise OSError; then it gets the same lines again.
            most: Length of the queue.
            patience: Seconds at the end to write the lines that wait; the rest is lost.
        """
        self._write, self._patience = write, patience
        self._waiting: Queue[bytes | None] = Queue(most)
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._ending = threading.Event()
        self.dropped, self.problem = 0, ""

    def put(self, line: str, *, is_needed: bool) -> None:
        """Add a line; if the queue is full, wait if the line is needed, else drop it.

        While lines cannot be written, nobody waits, and those that come last are dropped.
        """
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        while True:
            try:
                is_patient = is_needed and not self.problem
                self._waiting.put(data, block=is_patient, timeout=_RETRY_SECONDS)
            except Full:
                if is_needed and not self.problem:
                    continue  # the lines before it are being written
                self.dropped += 1
            return

    def __enter__(self) -> LineQueue:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        with suppress(Full):  # the pipe is not being read
            self._waiting.put(None, timeout=0 if self.problem else self._patience)
            self._thread.join(self._patience)

    def _run(self) -> None:
        is_open = True
        while is_open:
            lines = self._next()
            is_open = None not in lines
            while not self._try_write(b"".join(line for line in lines if line is not None)):
                if self._ending.wait(_RETRY_SECONDS):
                    return
            if len(lines) < _MOST_AT_ONCE:
                self._ending.wait(_PAUSE)

    def _try_write(self, data: bytes) -> bool:
        """Write lines; False if that failed, which must not end the service."""
        try:
            self._write(data)
        except OSError as error:
            self.problem = str(error.strerror or error)
            return False
        self.problem = ""
        return True

    def _next(self) -> list[bytes | None]:
        """The lines that wait, at least one."""
        lines = [self._waiting.get()]
        try:
            while len(lines) < _MOST_AT_ONCE:
                lines.append(self._waiting.get_nowait())
        except Empty:
            pass
        return lines


class Log:
    """A log with a line for each event."""

    def __init__(self, lines: LineQueue, *, is_terminal: bool) -> None:
        self._lines, self._is_terminal = lines, is_terminal

    def write(self, level: str, event: str, facts: Mapping[str, object]) -> None:
        """Write a line, with escaped and shortened texts; dropped if the log is not read."""
        shown = {
            name: shorten(value, _LONGEST_TEXT) if isinstance(value, str) else value
            for name, value in facts.items()
            if value not in {"", None}
        }
        now = datetime.now(UTC)
        if self._is_terminal:
            rest = " ".join(f"{name}={value}" for name, value in shown.items())
            line = printable(f"{now:%H:%M:%S} {level} {event} {rest}")
        else:
            time = now.isoformat(timespec="milliseconds")
            line = json_text({"time": time, "level": level, "event": event, **shown})
        self._lines.put(line, is_needed=False)


class LogHandler(logging.Handler):
    """Writes messages of libraries to the log, for example about a bug in a request."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message and the end of its traceback."""
        trace = ""
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)[-_LONGEST_TEXT:]
        facts = {"logger": record.name, "message": record.getMessage(), "traceback": trace}
        self._log.write(record.levelname.lower(), "message", facts)


class LogFile:
    """The file that standard error is redirected to, if any."""

    def __init__(self) -> None:
        """Remember the file's path before anybody renames it."""
        self._path = os.path.realpath(f"/dev/fd/{_STANDARD_ERROR}")

    def reopen(self) -> None:
        """Write to the file of this path from now on, which is created if it is missing.

        If that fails, the log has a line about it and stays in the old file.
        """
        if not stat.S_ISREG(os.fstat(_STANDARD_ERROR).st_mode):
            return
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            file = os.open(self._path, flags, 0o600)
        except OSError as error:
            logging.getLogger(__name__).warning("%s: %s", self._path, error.strerror)
            return
        os.dup2(file, _STANDARD_ERROR)
        os.close(file)


def write_standard_error(data: bytes) -> None:
    """Write lines on standard error; an OSError is passed on."""
    left = memoryview(data)
    while left:
        left = left[os.write(_STANDARD_ERROR, left) :]
