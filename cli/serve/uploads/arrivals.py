"""What every upload goes through: its body brought in, its files let go of, its refusal told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from cli.serve.http.bodies import KEPT_BYTES, declared_bytes, inflate, receive
from cli.serve.http.problems import Problem
from cli.serve.http.threads import run_there
from cli.serve.service import Service
from cli.serve.uploads.commits import as_full
from cli.serve.uploads.multipart import PartReader
from warehouse.errors import StoreError
from warehouse.inbox.spools import Spool

_Held = TypeVar("_Held", Spool, PartReader)


async def bring(
    service: Service,
    request: Request,
    encoding: str | None,
    take: Callable[[bytes], None],
    most_bytes: int,
) -> None:
    """Give a request's body, unpacked, to `take`, piece by piece and never on the event loop long.

    Raises:
        Problem: It is too large, too slow, not whole, or there is no room left on the disk.
        StoreError: The disk is full.
    """
    room = service.admission.check_room

    def take_if_room(piece: bytes) -> None:
        room()
        take(piece)

    if encoding is None:
        await receive(request, take_if_room, service.spooling, most_bytes=most_bytes)
        return
    async with held(service, service.inbox.spool()) as packed:
        await receive(request, packed.write, service.spooling, most_bytes=most_bytes)
        await run_there(
            service.inflating, inflate, packed, encoding, take_if_room, most_bytes=most_bytes
        )


@asynccontextmanager
async def held(service: Service, files: _Held) -> AsyncIterator[_Held]:
    """What has come, until the body ends; deleting a large file takes long."""
    try:
        yield files
    finally:
        if files.is_large:
            await run_there(service.spooling, files.close)
        else:
            files.close()


@asynccontextmanager
async def refusing(request: Request) -> AsyncIterator[None]:
    """Tell why an upload is refused, and close its connection if much of its body is left.

    Raises:
        Problem: It is.
    """
    try:
        yield
    except StoreError as error:
        told = as_full(error)
        _close_after(request, told)
        raise told from error
    except Problem as problem:
        _close_after(request, problem)
        raise


def _close_after(request: Request, problem: Problem) -> None:
    declared = declared_bytes(request)
    is_slow = problem.status_code == HTTPStatus.REQUEST_TIMEOUT
    if is_slow or declared is None or declared > KEPT_BYTES:
        problem.headers = {**(problem.headers or {}), "Connection": "close"}
