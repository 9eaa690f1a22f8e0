"""UploadSink: uploads the dumps of a streaming tracer to a service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from tracehouse.ingest.errors import ServiceError, SinkError
from tracehouse.ingest.remote.connection import ServiceConnection
from tracehouse.ingest.remote.uploading import DumpUploader, OutgoingDump
from tracehouse.ingest.tracer.writer import Dump

_RETRY_SECONDS = 60.0


class UploadSink:
    """Uploads each dump to a service; the dump is on the service's disk when its block ends.

    Close the sink after the last block. Like its tracer, it is for one thread.
    """

    def __init__(
        self,
        url: str,
        manifest: Mapping[str, JsonValue],
        *,
        token: str | None = None,
        retry_seconds: float = _RETRY_SECONDS,
    ) -> None:
        """Prepare the connection; the first dump opens it.

        Args:
            url: The service's URL, such as http://127.0.0.1:8080.
            manifest: Manifest of the dumps: device, build, model, clock.
            token: Access token; by default the value of $TRACEHOUSE_TOKEN.
            retry_seconds: How long to retry a dump while the service is unreachable or busy;
                tracing waits meanwhile.

        Raises:
            ServiceError: The URL is malformed.
        """
        self._connection = ServiceConnection(url, token=token, retry_seconds=retry_seconds)
        self._uploader = DumpUploader(self._connection)
        self._manifest = dict(manifest)

    def __call__(self, dump: Dump) -> None:
        """Send a dump.

        Raises:
            SinkError: The service cannot be reached, or does not accept the dump.
        """
        manifest = {"captured_at": datetime.now(UTC).isoformat(), **self._manifest}
        buffer = dump.debug_buffer or None
        outgoing = OutgoingDump(dump.etdump, json.dumps(manifest), debug_buffer=buffer)
        try:
            (result,) = self._uploader.upload([outgoing])
        except ServiceError as error:
            raise SinkError(str(error)) from error
        if isinstance(result, ServiceError):
            raise SinkError(str(result)) from result

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
