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

from cli.serve.access import Bearer
from cli.serve.arrivals import commit
from cli.serve.commits import Outcome, Upload
from cli.serve.pools import check_pool
from cli.serve.problems import Problem
from cli.serve.service import Service
from ingest.dump import Companion, Dump
from ingest.errors import ManifestError, SourceError
from ingest.found_dumps import FoundDumps
from warehouse.storage.log_records import Delivery, pack_delivery
from warehouse.storage.spools import Spool

NAME = "upload.zip"  # what an uploaded zip is called in the names of its dumps

_GROUP_BYTES = 8 << 20  # of dumps that are read before they are written; of one alone, at least
_COPIED_BYTES = 1 << 20  # at a time


class Packed(NamedTuple):
    """A dump of a zip: its name, and the upload that it is, or why it cannot be read."""

    name: str
    upload: Upload | None
    problem: Problem | None


class Taken(NamedTuple):
    """What became of a dump of a zip; without a SHA-256 it could not be read."""

    name: str
    sha256: str | None
    outcome: Outcome

    def content(self) -> dict[str, object]:
        """It, as the answer says it."""
        found: dict[str, object] = {"name": self.name}
        if self.sha256:
            found["sha256"] = self.sha256
        if self.outcome.problem:
            return {**found, "problem": self.outcome.problem.content()}
        return {**found, "state": self.outcome.state}


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
        size += packed.upload.delivery.byte_count if packed.upload else 0
        if size >= _GROUP_BYTES:
            break
    return group


async def take_group(service: Service, bearer: Bearer, group: Sequence[Packed]) -> list[Taken]:
    """What became of some dumps of a zip, which are committed together.

    Raises:
        Problem: There is no room for them on the disk.
        StoreError: They cannot be written.
    """
    small = [one.upload for one in group if one.upload and not one.upload.spool]
    service.admission.check_room(sum(one.delivery.byte_count for one in small))
    return await asyncio.gather(*(_take(service, bearer, one) for one in group))


def answer_taken(taken: Sequence[Taken]) -> Response:
    """The answer to a zip: what became of each of its dumps.

    Raises:
        Problem: None of them was taken.
    """
    content = {"dumps": [one.content() for one in taken]}
    problems = [one.outcome.problem for one in taken if one.outcome.problem]
    if len(problems) < len(taken):
        is_new = any(one.outcome.is_new for one in taken)
        return JSONResponse(content, HTTPStatus.CREATED if is_new else HTTPStatus.OK)
    first = problems[0]
    is_same = len({one.status_code for one in problems}) == 1
    status = HTTPStatus(first.status_code) if is_same else HTTPStatus.BAD_REQUEST
    detail = f"none of {len(taken):,} dumps was taken; the first: {first.detail}"
    raise Problem(status, first.reason, detail, more=content)


async def _take(service: Service, bearer: Bearer, packed: Packed) -> Taken:
    if packed.upload is None:
        return Taken(packed.name, None, Outcome("refused", problem=packed.problem))
    try:
        check_pool(bearer, packed.upload.pool)
        outcome = await commit(service, bearer, packed.upload)
    except Problem as problem:
        outcome = Outcome("refused", problem=problem)
    return Taken(packed.name, packed.upload.sha256, outcome)


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
        return Packed(name, None, Problem(HTTPStatus.BAD_REQUEST, "too_large", detail))
    etrecord, buffer = (_renamed(one, path) for one in files[1:])
    try:
        delivery = pack_delivery(
            replace(incoming, name=name, etrecord=etrecord, debug_buffer=buffer)
        )
        manifest = incoming.manifest()
    except (SourceError, ManifestError) as error:
        return Packed(name, None, _refuse(error, path))
    text, spool = manifest.canonical_json(), _copy(delivery, room)
    return Packed(name, Upload(name, delivery, text, spool, manifest.device.pool), None)


def _renamed(file: Dump | Companion | None, path: Path) -> Companion | None:
    if not isinstance(file, Companion):
        return None
    return file._replace(name=file.name.replace(str(path), NAME))


def _refuse(error: SourceError | ManifestError, path: Path) -> Problem:
    reason = error.reason if isinstance(error, SourceError) else "manifest"
    return Problem(HTTPStatus.BAD_REQUEST, reason, str(error).replace(str(path), NAME))
