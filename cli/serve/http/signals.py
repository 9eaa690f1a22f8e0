"""Signals to a service: SIGTERM and SIGINT end it, SIGHUP reopens its log."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from tracehouse.cli.serve.http.logs import LogFile
from tracehouse.cli.serve.http.supervisor import notify

ENDING_SECONDS = 1.5  # time to end after a signal

_ENDING = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Handles the signals of a service until its process ends.

    The first SIGTERM or SIGINT requests the end, and the second ends the process at once. So does
    the end of `ENDING_SECONDS`: what is accepted is on disk, and whatever is under way is done
    again after the next start.

    Attributes:
        is_end_wanted: Whether the end was requested.
        end: Called when the end is requested.
    """

    def __init__(self) -> None:
        self.is_end_wanted = False
        self.end: Callable[[], None] = lambda: None
        self._log = LogFile()
        for number in _ENDING:
            signal.signal(number, self._on_end)
        # The end of its terminal ends the service, too.
        signal.signal(signal.SIGHUP, self._on_end if sys.stderr.isatty() else self._on_reload)

    def _on_end(self, number: int, _: FrameType | None) -> None:
        if self.is_end_wanted:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.is_end_wanted = True
        notify("STOPPING=1")
        deadline = threading.Timer(ENDING_SECONDS, os._exit, [0])
        deadline.daemon = True
        deadline.start()
        self.end()

    def _on_reload(self, *_: object) -> None:
        notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        self._log.reopen()
        notify("READY=1")
