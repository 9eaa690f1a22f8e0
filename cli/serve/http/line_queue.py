"""A queue of lines that a thread writes, so that no answer waits for a disk or a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Full, Queue

_MOST_AT_ONCE = 1000
_RETRY_SECONDS = 1.0  # from a failure to the next try
_PAUSE = 0.05  # seconds to gather lines: waking a thread for each would delay the others


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
