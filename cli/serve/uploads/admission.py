"""Which uploads are taken, told before anything of their bodies is read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request

from cli.serve.http.bodies import TooLargeProblem, declared_bytes, encoding_of
from cli.serve.http.problems import Problem
from cli.serve.settings import MOST_WAITING, ServiceSettings
from warehouse.inbox.known import KnownDumps

_SOON, _LATER = 1, 5  # seconds after which an upload may be tried again
_HELD_BYTES = 64 << 20  # of all bodies that are being brought in, in memory
_MOST_HELD_BYTES = 1 << 20  # likewise of one, whatever its size
_ROOM_SECONDS = 1.0  # for which the room on the disk is taken to be what it was


class Admission:
    """Counts the uploads that are under way, and puts others off where they would be too many.

    Attributes:
        uploads: Uploads under way.
    """

    def __init__(self, store: Path, settings: ServiceSettings, known: KnownDumps) -> None:
        """Nothing is under way."""
        self._store, self._settings, self._known = store, settings, known
        self.uploads = 0
        self._declared = 0  # bytes that these are to bring
        self._held = 0  # bytes that they may hold in memory
        self._free, self._looked_at = 0, -_ROOM_SECONDS

    @contextmanager
    def admit(self, request: Request, most_bytes: int) -> Iterator[str | None]:
        """Let an upload in until the body ends; gives how it is packed.

        Args:
            request: The upload.
            most_bytes: Size of the largest of its kind.

        Raises:
            TooLargeProblem: It is.
            Problem: It is packed in an unknown way, or there is no room for it now.
        """
        declared = declared_bytes(request) or 0
        encoding = encoding_of(request)
        is_known = declared and not encoding
        held = min(declared, _MOST_HELD_BYTES) if is_known else _MOST_HELD_BYTES
        if declared > most_bytes:
            raise TooLargeProblem(most_bytes)
        self._check_load(declared, held)
        self.check_room(declared)
        self.uploads += 1
        self._declared += declared
        self._held += held
        try:
            yield encoding
        finally:
            self.uploads -= 1
            self._declared -= declared
            self._held -= held

    def check_room(self, byte_count: int = 0) -> None:
        """Pass if so many bytes leave as much room on the store's disk as is to be left.

        Raises:
            Problem: They do not.
        """
        now = time.monotonic()
        if now - self._looked_at >= _ROOM_SECONDS:
            status = os.statvfs(self._store)
            self._free, self._looked_at = status.f_bavail * status.f_frsize, now
        if self._free - byte_count < self._settings.free_bytes:
            detail = f"only {self._free:,} bytes are free on the store's disk"
            raise Problem(HTTPStatus.INSUFFICIENT_STORAGE, "disk_low", detail, retry_after=30)

    def _check_load(self, declared: int, held: int) -> None:
        settings, waiting = self._settings, self._known.backlog_bytes + self._declared
        if self.uploads >= settings.concurrent_uploads or self._held + held > _HELD_BYTES:
            detail = f"{self.uploads:,} uploads are under way: try again soon"
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "busy", detail, retry_after=_SOON)
        if (n_waiting := self._known.backlog_dumps) >= MOST_WAITING:
            detail = f"{n_waiting:,} dumps wait to be indexed: try again later"
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "backlog", detail, retry_after=_LATER)
        if waiting and waiting + declared > settings.backlog_bytes:
            detail = f"{waiting:,} bytes wait to be indexed: try again later"
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "backlog", detail, retry_after=_LATER)
