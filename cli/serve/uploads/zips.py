"""Zips of dumps that are uploaded: each dump in one is an upload of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from starlette.responses import JSONResponse, Response

from cli.serve.access.authorization import Bearer
from cli.serve.access.pools import check_pool, pool_of
from cli.serve.http.problems import Problem
from cli.serve.service import Service
from ingest.dump import Companion, Dump
from ingest.errors import ManifestError, SourceError
from ingest.found_dumps import FoundDumps
from warehouse.inbox.accept import Outcome
from warehouse.inbox.records import Delivery, pack_delivery
from warehouse.inbox.spools import Spool

NAME = "upload.zip"  # what an uploaded zip is called in the names of its dumps

_GROUP_BYTES = 8 << 20  # of dumps that are read before they are written; of one alone, at least
_COPIED_BYTES = 1 << 20  # at a time


class Packed(NamedTuple):
    """A dump of a zip, or why it cannot be read; and where it lies, if it is large."""

    name: str
    content: Delivery | Problem
    spool: Spool | None = None


class ZipMemberResult(NamedTuple):
    """What became of a dump of a zip; without a SHA-256 it could not be read."""

    name: str
    sha256: str | None
    result: Outcome | Problem

    def content(self) -> dict[str, object]:
        """The result as the answer states it."""
        found: dict[str, object] = {"name": self.name}
        if self.sha256:
            found["sha256"] = self.sha256
        if isinstance(self.result, Problem):
            return {**found, "problem": self.result.content()}
        return {**found, "state": self.result.state}


def read_artifact(
    path: Path, stated: Mapping[str, object], most_bytes: int, room: Callable[[int], Spool]
) -> Iterator[list[Packed]]:
    """The dumps of a zip, some at a time.

    Args:
        path: The zip.
        stated: Fields that hold for all dumps, and override what is found beside them in it.
        most_bytes: Size of the largest dump, and of what comes with it.
        room: Makes room for a large dump of so many bytes, which becomes a log of its own and
            holds up nobody.

    Raises:
        Problem: There is no dump in it, what is stated is malformed, or there is no room.
        StoreError: The disk is full.
    """
    try:
        found = FoundDumps([path], manifest=stated, is_alone=True)
    except (SourceError, ManifestError) as error:
        problem = _refuse(error, path)
        raise problem from error
    dumps = iter(found)
    while True:
        with ExitStack() as opened:
            group = _read_group(
                dumps, path, most_bytes, lambda count: opened.enter_context(room(count))
            )
            if not group:
                return
            yield group


def _read_group(
    dumps: Iterator[Dump], path: Path, most_bytes: int, room: Callable[[int], Spool]
) -> list[Packed]:
    group: list[Packed] = []
    size = 0
    for incoming in dumps:
        packed = _pack(incoming, path, most_bytes, room)
        group.append(packed)
        size += packed.content.byte_count if isinstance(packed.content, Delivery) else 0
        if size >= _GROUP_BYTES:
            break
    return group


async def take_group(
    service: Service, bearer: Bearer, group: Sequence[Packed]
) -> list[ZipMemberResult]:
    """What became of some dumps of a zip, which are committed together.

    Raises:
        Problem: There is no room for them on the disk.
        StoreError: They cannot be written.
    """
    sizes = (
        one.content.byte_count
        for one in group
        if isinstance(one.content, Delivery) and not one.spool
    )
    service.admission.check_room(sum(sizes))
    return await asyncio.gather(*(_take(service, bearer, one) for one in group))


def answer_taken(taken: Sequence[ZipMemberResult]) -> Response:
    """The answer to a zip: what became of each of its dumps.

    Raises:
        Problem: None of them was taken.
    """
    content = {"dumps": [one.content() for one in taken]}
    problems = [one.result for one in taken if isinstance(one.result, Problem)]
    if len(problems) < len(taken):
        is_new = any(isinstance(one.result, Outcome) and one.result.is_new for one in taken)
        return JSONResponse(content, HTTPStatus.CREATED if is_new else HTTPStatus.OK)
    first = problems[0]
    is_same = len({one.status_code for one in problems}) == 1
    status = HTTPStatus(first.status_code) if is_same else HTTPStatus.BAD_REQUEST
    detail = f"none of {len(taken):,} dumps was taken; the first: {first.detail}"
    raise Problem(status, first.reason, detail, more=content)


async def _take(service: Service, bearer: Bearer, packed: Packed) -> ZipMemberResult:
    delivery = packed.content
    if isinstance(delivery, Problem):
        return ZipMemberResult(packed.name, None, delivery)
    result: Outcome | Problem
    try:
        check_pool(bearer, pool_of(delivery.manifest))
        result = await service.commits.commit(bearer, delivery, packed.spool)
    except Problem as problem:
        result = problem
    return ZipMemberResult(packed.name, delivery.sha256, result)


def _copy(delivery: Delivery, room: Callable[[int], Spool]) -> Spool | None:
    """A large dump where it can become a log; None for others."""
    dump = delivery.files[0]
    if len(dump) < _GROUP_BYTES:
        return None
    spool = room(len(dump))
    for start in range(0, len(dump), _COPIED_BYTES):
        spool.write(dump[start : start + _COPIED_BYTES])
    return spool


def _pack(incoming: Dump, path: Path, most_bytes: int, room: Callable[[int], Spool]) -> Packed:
    name = incoming.name.replace(str(path), NAME)
    files = (incoming, incoming.etrecord, incoming.debug_buffer)
    if any(one and one.byte_count > most_bytes for one in files):
        detail = f"{name}: more than {most_bytes:,} bytes"
        return Packed(name, Problem(HTTPStatus.BAD_REQUEST, "too_large", detail))
    etrecord, buffer = (_renamed(one, path) for one in files[1:])
    try:
        delivery = pack_delivery(
            replace(incoming, name=name, etrecord=etrecord, debug_buffer=buffer)
        )
    except (SourceError, ManifestError) as error:
        return Packed(name, _refuse(error, path))
    return Packed(name, delivery, _copy(delivery, room))


def _renamed(file: Dump | Companion | None, path: Path) -> Companion | None:
    if not isinstance(file, Companion):
        return None
    return file._replace(name=file.name.replace(str(path), NAME))


def _refuse(error: SourceError | ManifestError, path: Path) -> Problem:
    reason = error.reason if isinstance(error, SourceError) else "manifest"
    return Problem(HTTPStatus.BAD_REQUEST, reason, str(error).replace(str(path), NAME))
