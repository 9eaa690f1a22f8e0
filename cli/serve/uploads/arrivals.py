"""Arrivals: an upload's body is received into files, which are closed after use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, closing
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple, Protocol

from starlette.requests import Request

from tracehouse.cli.serve.http.endpoints import (
    KEPT_BYTES,
    Settle,
    declared_bytes,
    encoding_of,
    inflate,
    receive,
)
from tracehouse.cli.serve.http.problems import Problem, as_problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.commits import name_of, record_request
from tracehouse.ingest.dump import HashedFile
from tracehouse.ingest.errors import IngestError
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.resolver import make_manifest
from tracehouse.ingest.manifest.runner_output import counters_of
from tracehouse.ingest.manifest.sidecars import Sidecar, SidecarParser, parse_sidecar
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.records import Delivery, make_delivery
from tracehouse.warehouse.inbox.spools import Spool
from tracehouse.warehouse.load.children import OWN_SIDECAR_BYTES

NEEDED_PARTS = ("manifest", "dump")
PARTS = (*NEEDED_PARTS, "etrecord", "debug_buffer", "log", "qhas")  # in the order of a record
LONGEST_NAME = 255

_PIECES = 2  # so many of an unpacked body are written before other tasks have a turn
_MANIFEST = "manifest"
_PRINTED = {"log": Sidecar.LOG, "qhas": Sidecar.QHAS}
_COMPANIONS = {"etrecord": "ETRecord", "debug_buffer": "debug buffer"}


class Part(NamedTuple):
    """A part of an upload: the name of its file, its content so far, and its largest size."""

    file_name: str
    spool: Spool
    most_bytes: int


Parts = Mapping[str, Part]


class PartsReader(Protocol):
    """Splits a body into parts while it arrives."""

    def write(self, piece: bytes) -> None:
        """Take the next piece of the body."""

    @property
    def spools(self) -> list[Spool]:
        """The contents of the parts, which are closed afterwards."""


@asynccontextmanager
async def receive_parts(
    request: Request, reader: PartsReader, *, settle: Settle | None = None
) -> AsyncIterator[None]:
    """Let a reader split the unpacked body of an upload, once that is admitted.

    `settle` is awaited after each large part of the body, see `receive`. Problems of admission, of
    the body and of the disk, and a StoreError, are passed on.
    """
    service: Service = request.app.state.service
    declared, encoding = declared_bytes(request) or 0, encoding_of(request)
    most_bytes = service.settings.max_body_bytes

    def write(piece: bytes) -> None:
        service.admission.check_room()
        reader.write(piece)

    with service.admission.admit(declared, is_packed=bool(encoding), most_bytes=most_bytes):
        async with _close_after(service, lambda: reader.spools):
            if encoding is None:
                await receive(
                    request, write, service.spooling, most_bytes=most_bytes, settle=settle
                )
            else:
                packed = service.inbox.spool()
                async with _close_after(service, lambda: [packed]):
                    await receive(request, packed.write, service.spooling, most_bytes=most_bytes)
                    with closing(inflate(packed, encoding, most_bytes=most_bytes)) as pieces:
                        unpack = partial(_write_some, pieces, write)
                        while await run_to_end(service.inflating, unpack):
                            if settle:
                                await settle()
            yield


def _write_some(pieces: Generator[bytes], write: Callable[[bytes], None]) -> bool:
    """Write some pieces; whether there were any."""
    some = 0
    for piece in islice(pieces, _PIECES):
        write(piece)
        some += 1
    return some > 0


@asynccontextmanager
async def _close_after(
    service: Service, spools: Callable[[], Sequence[Spool]]
) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await close_spools(service, spools())


async def close_spools(service: Service, spools: Sequence[Spool]) -> None:
    """Close spools, in a thread if any has a file, as deleting a large file takes long."""

    def close() -> None:
        for spool in spools:
            spool.close()

    if any(spool.is_large for spool in spools):
        await run_to_end(service.spooling, close)
    else:
        close()


@asynccontextmanager
async def report_refusals(request: Request) -> AsyncIterator[None]:
    """Turn errors into problems, record refusals, and close connections with much unread.

    Raises:
        Problem: The upload is refused.
    """
    try:
        yield
    except (Problem, IngestError, StoreError) as error:
        problem = as_problem(error)
        record_request(request, problem)
        declared = declared_bytes(request)
        if declared is None or declared > KEPT_BYTES:
            problem.headers = {**(problem.headers or {}), "Connection": "close"}
        raise problem from (None if problem is error else error)


def name_of_parts(parts: Parts) -> str:
    """The name of the dump."""
    dump = parts["dump"]
    return dump.file_name or name_of(dump.spool.sha256)


def threads_for(service: Service, sidecar_bytes: int) -> Executor:
    """The threads in which to parse sidecars, the longest of which has so many bytes.

    Long ones are parsed by another process, and must not keep other uploads waiting.
    """
    return service.parsing if sidecar_bytes > OWN_SIDECAR_BYTES else service.spooling


def count_sidecar_bytes(parts: Parts) -> int:
    """Size of the longest sidecar among the parts."""
    return max(parts[part].spool.byte_count for part in (_MANIFEST, *_PRINTED) if part in parts)


def parse_manifest(parts: Parts, parse: SidecarParser) -> Manifest:
    """The manifest, with the counters in the runner's output.

    A ManifestError is passed on.
    """
    printed = [
        counter
        for part, kind in _PRINTED.items()
        if part in parts and parts[part].spool.byte_count
        for counter in counters_of(parse(kind, part, parts[part].spool.data))
    ]
    data = bytes(parts[_MANIFEST].spool.data)
    if not printed and len(data) <= OWN_SIDECAR_BYTES:
        return _recall_manifest(data)
    return make_manifest(_MANIFEST, parse(Sidecar.MANIFEST, _MANIFEST, data), printed)


def deliver_parts(parts: Parts, manifest: str) -> Delivery:
    """The delivery of the dump with a manifest, as canonical JSON, and its companions."""
    name = name_of_parts(parts)
    companions = (_companion(parts, part, name) for part in _COMPANIONS)
    return make_delivery(manifest, parts["dump"].spool.hashed(name), *companions)


@lru_cache(maxsize=256)  # many dumps share a manifest
def _recall_manifest(data: bytes) -> Manifest:
    return make_manifest(_MANIFEST, parse_sidecar(Sidecar.MANIFEST, _MANIFEST, data), [])


def _companion(parts: Parts, part: str, name: str) -> HashedFile | None:
    found = parts.get(part)
    if found is None or not found.spool.byte_count:  # a form without a file sends an empty part
        return None
    return found.spool.hashed(found.file_name or f"{name}: {_COMPANIONS[part]}")
