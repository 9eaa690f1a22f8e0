"""The log on standard error: lines of JSON, or short lines on a terminal."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime

from tracehouse.cli.serve.http.line_queue import LineQueue
from tracehouse.queries.printable import json_text, printable, shorten

_STANDARD_ERROR = 2  # its file descriptor
_LONGEST_TEXT = 4000  # characters


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
