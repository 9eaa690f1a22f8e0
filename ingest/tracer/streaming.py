"""StreamingTracer: each block becomes a dump, and a sink delivers it when the block ends."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from tracehouse.ingest.durable import replacing, sync_path
from tracehouse.ingest.errors import ServiceError, SinkError
from tracehouse.ingest.remote import RETRY_SECONDS, OutgoingDump, ServiceConnection
from tracehouse.ingest.tracer.event_tracer import DebugLevel, OutputFilter, ProfilingLevel
from tracehouse.ingest.tracer.writer import Clock, Dump, ETDumpWriter

Sink = Callable[[Dump], None]


class StreamingTracer(ETDumpWriter):
    """A tracer for long-running processes, which delivers dumps while the process runs.

    The sink is called in the tracing thread, between two blocks. If the sink raises an error, the
    method that ended the block raises it; the block is lost, and tracing can continue.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        clock: Clock = time.perf_counter_ns,
        debug_level: DebugLevel = DebugLevel.NO_LOGGING,
        profiling_level: ProfilingLevel = ProfilingLevel.ALL_EVENTS,
        output_filter: OutputFilter | None = None,
    ) -> None:
        """Start outside of blocks.

        Args:
            sink: Receives a dump per block.
            clock: Returns the ticks, as for ETDumpWriter.
            debug_level: Which values the logging helpers log.
            profiling_level: Whether `profile` logs.
            output_filter: True for the delegate ids whose intermediate outputs are left out.
        """
        super().__init__(
            clock=clock,
            debug_level=debug_level,
            profiling_level=profiling_level,
            output_filter=output_filter,
        )
        self._sink = sink

    def end_event_block(self) -> None:
        """End the block and hand its dump to the sink.

        `create_event_block` does the same with an open block; `finish` returns the dump instead.

        Raises:
            NoBlockError: No block is open.
        """
        super().end_event_block()
        self._sink(self.finish())


class FolderSink:
    """Writes dumps to a folder for ``tracehouse ingest``, which may run at any time.

    A dump appears complete or not at all, after its debug buffer (``NAME.debug.bin``) and a sidecar
    with its capture time. Names sort by the start of the sink, then by block; several processes may
    share a folder if they share its manifest.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, JsonValue] | None = None) -> None:
        """Create the folder and its manifest if needed.

        Args:
            folder: Where the dumps go.
            manifest: Contents of the folder's ``manifest.json``: device, build, model, clock.

        Raises:
            SinkError: The folder cannot be written, or has another manifest.
        """
        self._folder = folder
        started = datetime.now(UTC)
        self._prefix = f"{started:%Y%m%dT%H%M%S.%f}-{secrets.token_hex(4)}"
        self._count = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if manifest is not None:
                self._write_manifest(manifest)
        except OSError as error:
            raise SinkError(_describe(folder, error)) from error

    def __call__(self, dump: Dump) -> None:
        """Write a dump; when this returns, the dump is on disk.

        Raises:
            SinkError: The dump cannot be written.
        """
        name = f"{self._prefix}-{self._count:08d}"
        self._count += 1
        captured = {"captured_at": datetime.now(UTC).isoformat()}
        try:
            if dump.debug_buffer:
                self._write(f"{name}.debug.bin", dump.debug_buffer)
            self._write(f"{name}.json", json.dumps(captured).encode())
            self._write(f"{name}.etdp", dump.etdump)
            sync_path(self._folder)
        except OSError as error:
            raise SinkError(_describe(self._folder, error)) from error

    def _write_manifest(self, manifest: Mapping[str, JsonValue]) -> None:
        path = self._folder / "manifest.json"
        if path.exists():
            _check_manifest(path, manifest)
            return
        self._write(path.name, json.dumps(dict(manifest), indent=2).encode())
        sync_path(self._folder)

    def _write(self, name: str, data: bytes) -> None:
        with replacing(self._folder / name, is_folder_synced=False) as unfinished:
            unfinished.write_bytes(data)


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
        retry_seconds: float = RETRY_SECONDS,
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
            (result,) = self._connection.upload([outgoing])
        except ServiceError as error:
            raise SinkError(str(error)) from error
        if isinstance(result, ServiceError):
            raise SinkError(str(result)) from result

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _check_manifest(path: Path, manifest: Mapping[str, JsonValue]) -> None:
    """Check that a file contains this manifest.

    Raises:
        SinkError: The file contains another manifest, or is not JSON.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise SinkError(f"{path}: not JSON; wanted the sink's manifest or no file") from error
    if found != dict(manifest):
        raise SinkError(f"{path}: has another manifest; wanted one folder per manifest")


def _describe(folder: Path, error: OSError) -> str:
    return f"{error.filename or folder}: {error.strerror}; wanted a writable folder"
