"""Arrivals: an upload's body is received into files, which are closed after use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import islice
from typing import TypeVar

from starlette.requests import Request

from tracehouse.cli.serve.http.bodies import (
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
from tracehouse.cli.serve.uploads.multipart import PartReader
from tracehouse.cli.serve.uploads.record_stream import RecordReader
from tracehouse.cli.serve.uploads.refusals import record_request
from tracehouse.ingest.errors import IngestError
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.spools import Spool

_Files = TypeVar("_Files", Spool, PartReader, RecordReader)
_PIECES = 2  # of an unpacked body, written without a return to the event loop


@asynccontextmanager
async def received(
    request: Request, files: _Files, most_bytes: int, *, settle: Settle | None = None
) -> AsyncIterator[_Files]:
    """A spool, or the parts of a body, with the unpacked body of an upload that is admitted.

    `settle` is awaited after each large part of the body, see `receive`. Problems of admission, of
    the body and of the disk, and a StoreError, are passed on.
    """
    service: Service = request.app.state.service
    declared, encoding = declared_bytes(request) or 0, encoding_of(request)

    def write(piece: bytes) -> None:
        service.admission.check_room()
        files.write(piece)

    with service.admission.admit(declared, is_packed=bool(encoding), most_bytes=most_bytes):
        async with _closing(service, files):
            if encoding is None:
                await receive(
                    request, write, service.spooling, most_bytes=most_bytes, settle=settle
                )
            else:
                async with _closing(service, service.inbox.spool()) as packed:
                    await receive(request, packed.write, service.spooling, most_bytes=most_bytes)
                    with closing(inflate(packed, encoding, most_bytes=most_bytes)) as pieces:
                        unpack = partial(_write_some, pieces, write)
                        while await run_to_end(service.inflating, unpack):
                            if settle:
                                await settle()
            yield files


def _write_some(pieces: Generator[bytes], write: Callable[[bytes], None]) -> bool:
    """Write some pieces; whether there were any."""
    some = 0
    for piece in islice(pieces, _PIECES):
        write(piece)
        some += 1
    return some > 0


@asynccontextmanager
async def _closing(service: Service, files: _Files) -> AsyncIterator[_Files]:
    try:
        yield files
    finally:
        await close_spools(service, [files] if isinstance(files, Spool) else files.spools)


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
async def refusing(request: Request) -> AsyncIterator[None]:
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
