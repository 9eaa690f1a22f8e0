"""UploadSink: the dumps of a streaming tracer, sent to a service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from ingest.errors import ServiceError, SinkError
from ingest.remote.connection import ServiceConnection
from ingest.remote.uploading import upload_dump
from ingest.tracer.writer import Dump

_RETRY_SECONDS = 60.0


class UploadSink:
    """Sends each dump to a service, which has it on disk when the block has ended.

    Close it after the last block; for one thread, as its tracer is.
    """

    def __init__(
        self,
        url: str,
        manifest: Mapping[str, JsonValue],
        *,
        token: str | None = None,
        retry_seconds: float = _RETRY_SECONDS,
    ) -> None:
        """Connect with the first dump.

        Args:
            url: The service's address, such as http://127.0.0.1:8080.
            manifest: What the dumps do not say: device, build, model, clock.
            token: Who sends them; by default what $TRACEHOUSE_TOKEN holds.
            retry_seconds: Time for which a dump is sent again while the service is not there or
                busy; tracing waits meanwhile.

        Raises:
            ServiceError: That is no address.
        """
        self._connection = ServiceConnection(url, token=token, retry_seconds=retry_seconds)
        self._manifest = dict(manifest)

    def __call__(self, dump: Dump) -> None:
        """Send a dump.

        Raises:
            SinkError: The service cannot be reached, or does not take it.
        """
        manifest = {"captured_at": datetime.now(UTC).isoformat(), **self._manifest}
        buffer = dump.debug_buffer or None
        try:
            upload_dump(self._connection, dump.etdump, json.dumps(manifest), debug_buffer=buffer)
        except ServiceError as error:
            raise SinkError(str(error)) from error

    def close(self) -> None:
        """Let go of the service."""
        self._connection.close()
