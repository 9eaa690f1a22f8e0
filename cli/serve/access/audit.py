"""The audit log: writes, SQL and changes of tokens, each with its client.

The log is a file of JSON lines in the store's folder. A full file becomes `audit.1.jsonl`, older
ones move up by one number, and the oldest is deleted.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.durable import lock, unlock, write_all
from tracehouse.queries.printable import json_text, shorten
from tracehouse.warehouse.errors import write_errors

FILE_NAME = "audit.jsonl"
FULL_BYTES = 64 << 20
KEPT_FILES = 16
_LINE_END = b"\n"
_LONGEST_TEXT = 20_000  # characters; the longest statement has fewer


class AuditEntry(NamedTuple):
    """An action, done or refused.

    Attributes:
        bearer: Name of the token; empty without one, `uid N` for a command.
        action: Method and route, or the command.
        what: The object: SHA-256 of a dump, a statement, a token.
        result: `ok`, or the reason of the refusal.
        status: Status of the answer; 0 for a command.
        milliseconds: Duration.
        bytes: Size of the request's body.
        request_id: As in the answer and the other logs.
    """

    bearer: str
    action: str
    what: str
    result: str
    status: int = 0
    milliseconds: float = 0.0
    bytes: int = 0
    request_id: str = ""

    def line(self) -> str:
        """The entry as JSON, with the current time."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        texts = {
            name: shorten(value, _LONGEST_TEXT)
            for name, value in self._asdict().items()
            if isinstance(value, str)
        }
        return json_text({"time": time, **self._asdict(), **texts})


class AuditFile:
    """Appends to a store's audit log; several processes may do so at once."""

    def __init__(self, store: Path, *, full_bytes: int = FULL_BYTES) -> None:
        self._path, self._full_bytes = store / FILE_NAME, full_bytes
        self._open: int | None = None

    def append(self, lines: bytes) -> None:
        """Write lines to one file, all of them or none; an OSError is passed on."""
        while not self._try_append(lines):
            pass

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            os.close(self._open)
            self._open = None

    def _try_append(self, lines: bytes) -> bool:
        """Write lines, unless the file was renamed by another process, or is full and renamed now.

        A line that a killed process left unfinished is ended first.

        Raises:
            OSError: Nothing was written.
        """
        descriptor = self._current()
        lock(descriptor)  # against other processes
        try:
            if not self._is_in_place(descriptor):
                return False
            size = os.fstat(descriptor).st_size
            if size and size + len(lines) > self._full_bytes:
                self._rotate()
                return False
            is_torn = size and os.pread(descriptor, 1, size - 1) != _LINE_END
            try:
                write_all(descriptor, (_LINE_END if is_torn else b"") + lines)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            unlock(descriptor)
        return True

    def _current(self) -> int:
        """The file with the log's name; the open one may have been renamed by another process."""
        if self._open is not None and not self._is_in_place(self._open):
            self.close()
        if self._open is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._open = os.open(self._path, flags, 0o600)
        return self._open

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        """Rename the full file, which is locked, and those before it."""
        for number in range(KEPT_FILES - 1, 0, -1):
            if (older := self._old_file(number)).exists():
                older.replace(self._old_file(number + 1))
        self._path.rename(self._old_file(1))

    def _old_file(self, number: int) -> Path:
        return self._path.with_suffix(f".{number}.jsonl")


def audit_command(store: Path, command: str, what: str) -> None:
    """Audit a command.

    Raises:
        StoreError: The log cannot be written.
    """
    file = AuditFile(store)
    entry = AuditEntry(f"uid {os.getuid()}", command, what, "ok")
    try:
        with write_errors(str(store / FILE_NAME)):
            file.append(f"{entry.line()}\n".encode())
    finally:
        file.close()
