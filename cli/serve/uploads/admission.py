"""Admission: uploads are admitted or deferred before their bodies are read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracehouse.cli.serve.http.endpoints import TooLargeProblem
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.settings import MOST_WAITING, ServiceSettings
from tracehouse.warehouse.inbox.accept import KnownDumps

_SOON, _LATER = 1, 5  # seconds after which a client may try again
_HELD_BYTES = 64 << 20  # in memory, of all bodies that are being received
_MOST_HELD_BYTES = 1 << 20  # in memory, of one body, whatever its size
_ROOM_SECONDS = 1.0  # how long a reading of the disk's free space is used


class Admission:
    """Counts the uploads under way, and defers further ones above the limits."""

    def __init__(self, store: Path, settings: ServiceSettings, known: KnownDumps) -> None:
        self._store, self._settings, self._known = store, settings, known
        self.uploads = 0
        self._declared = 0  # bytes that the uploads under way announced
        self._held = 0  # bytes that they may hold in memory
        self._free, self._looked_at = 0, -_ROOM_SECONDS

    @contextmanager
    def admit(self, declared: int, *, is_packed: bool, most_bytes: int) -> Iterator[None]:
        """Count an upload until the body ends.

        Args:
            declared: Size of the upload, 0 if it is unknown.
            is_packed: Whether it will be unpacked.
            most_bytes: Size of the largest upload of its kind.

        Raises:
            TooLargeProblem: The upload is too large.
            Problem: The service has no room for the upload now.
        """
        is_known = declared and not is_packed
        held = min(declared, _MOST_HELD_BYTES) if is_known else _MOST_HELD_BYTES
        if declared > most_bytes:
            raise TooLargeProblem(most_bytes)
        self._check_load(declared, held)
        self.check_room(declared)
        self.uploads += 1
        self._declared += declared
        self._held += held
        try:
            yield
        finally:
            self.uploads -= 1
            self._declared -= declared
            self._held -= held

    def check_room(self, byte_count: int = 0) -> None:
        """Check that the disk keeps its free space after so many bytes.

        Raises:
            Problem: The disk is too full.
        """
        now = time.monotonic()
        if now - self._looked_at >= _ROOM_SECONDS:
            status = os.statvfs(self._store)
            self._free, self._looked_at = status.f_bavail * status.f_frsize, now
        if self._free - byte_count < self._settings.free_bytes:
            detail = f"only {self._free:,} bytes are free on the store's disk: try again later"
            raise Problem(507, "disk_low", detail, retry_after=30)

    def check_backlog(self, declared: int, *, received: int = 0) -> None:
        """Check that `declared` bytes may join the dumps that wait to be indexed.

        Raises:
            Problem: Too many wait.
        """
        if full := describe_full_backlog(
            self._known, self._settings, received=received, declared=declared
        ):
            raise Problem(429, "backlog", f"{full}: try again later", retry_after=_LATER)

    def _check_load(self, declared: int, held: int) -> None:
        if self.uploads >= self._settings.concurrent_uploads or self._held + held > _HELD_BYTES:
            detail = f"{self.uploads:,} uploads are under way: try again soon"
            raise Problem(429, "busy", detail, retry_after=_SOON)
        self.check_backlog(declared, received=self._declared)


def describe_full_backlog(
    known: KnownDumps, settings: ServiceSettings, *, received: int = 0, declared: int = 1
) -> str:
    """Why an upload of `declared` bytes has to wait; empty if it may start.

    Args:
        known: Counts the dumps that wait to be indexed.
        settings: Settings of the service.
        received: Size of the uploads under way.
        declared: Size of the upload; one alone may be larger than the whole backlog.
    """
    waiting, most_bytes = known.backlog_bytes + received, settings.backlog_bytes
    if known.backlog_dumps >= MOST_WAITING:
        return f"{known.backlog_dumps:,} dumps wait to be indexed, the limit is {MOST_WAITING:,}"
    if waiting and waiting + declared > most_bytes:
        return f"{waiting:,} bytes wait to be indexed, the limit is {most_bytes:,}"
    return ""
