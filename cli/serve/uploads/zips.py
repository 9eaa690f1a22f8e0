"""Uploaded zips: each dump in a zip is a separate upload."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.access.authorization import Bearer, check_pool, pool_of
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.arrivals import received
from tracehouse.cli.serve.uploads.refusals import record_refusal
from tracehouse.ingest.dump import Dump, FoundDumps
from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.warehouse.inbox.accept import Outcome
from tracehouse.warehouse.inbox.records import Delivery, pack_delivery
from tracehouse.warehouse.inbox.spools import Spool

NAME = "upload.zip"  # the zip's name in the names of its dumps

_GROUP_BYTES = 8 << 20  # dumps are read until they have so many bytes, and then written together
_COPIED_BYTES = 1 << 20  # at a time


class ZipMember(NamedTuple):
    """A dump of a zip and the result of its upload; no SHA-256 if the dump is unreadable."""

    name: str
    sha256: str | None
    result: Outcome | Problem

    def content(self) -> dict[str, object]:
        """The member's fields in the answer."""
        fields = {"name": self.name, **({"sha256": self.sha256} if self.sha256 else {})}
        if isinstance(self.result, Problem):
            return {**fields, "problem": self.result.content()}
        return {**fields, "state": self.result.state}


# A dump, with its spool if it is large; or a member that is not uploaded.
_Read = tuple[Delivery, Spool | None] | ZipMember


async def accept_zip(request: Request, stated: Mapping[str, object]) -> Response:
    """Accept the dumps of an uploaded zip; `stated` fields override those in the zip.

    Raises:
        Problem: No dump was taken.
    """
    service: Service = request.app.state.service
    most_bytes, members = service.settings.max_body_bytes, list[ZipMember]()
    async with received(request, service.inbox.spool(is_zip=True), most_bytes) as spool:
        reader = _ZipReader(service, spool.path)
        groups = reader.read_groups(stated)
        while group := await run_to_end(service.parsing, partial(next, groups, None)):
            read = [one for one in group if not isinstance(one, ZipMember)]
            service.admission.check_room(sum(one.byte_count for one, spool in read if not spool))
            await service.admission.await_backlog(sum(one.byte_count for one, _ in read))
            uploads = (_take(service, request.state.bearer, one) for one in group)
            members += await asyncio.gather(*uploads)
    for one in members:
        if isinstance(one.result, Problem):
            record_refusal(service, one.result, one.name, one.sha256)
    request.state.what = ", ".join(one.sha256 or one.name for one in members)
    return _answer(members, reader.passed_over)


def _answer(members: Sequence[ZipMember], passed_over: Mapping[str, int]) -> Response:
    others = {"passed_over": dict(passed_over)} if passed_over else {}
    content = {"dumps": [one.content() for one in members], **others}
    problems = [one.result for one in members if isinstance(one.result, Problem)]
    if len(problems) < len(members):
        is_new = any(isinstance(one.result, Outcome) and one.result.is_new for one in members)
        return JSONResponse(content, 201 if is_new else 200)
    first = problems[0]
    is_same = len({one.status_code for one in problems}) == 1
    detail = f"none of {len(members):,} dumps was taken; the first: {first.detail}"
    raise Problem(first.status_code if is_same else 400, first.reason, detail, more=content)


async def _take(service: Service, bearer: Bearer, read: _Read) -> ZipMember:
    if isinstance(read, ZipMember):
        return read
    delivery, spool = read
    result: Outcome | Problem
    try:
        check_pool(bearer, pool_of(delivery.manifest))
        result = await service.commits.commit(bearer, delivery, spool)
    except Problem as problem:
        result = problem
    return ZipMember(delivery.name, delivery.sha256, result)


class _ZipReader:
    """Reads the dumps of a zip in a thread.

    Attributes:
        passed_over: Number of other files, by kind; known once the first group is read.
    """

    def __init__(self, service: Service, path: Path) -> None:
        self._service, self._path = service, path
        self.passed_over: Mapping[str, int] = {}

    def read_groups(self, stated: Mapping[str, object]) -> Iterator[list[_Read]]:
        """The dumps, some at a time; spools are closed when the next group is read.

        A StoreError is passed on.

        Raises:
            Problem: The zip has no dump, the stated fields are malformed, or the disk is low.
        """
        try:
            found = FoundDumps([self._path], manifest=stated, tops=())
        except (SourceError, ManifestError) as error:
            problem = self._refuse(error)
            raise problem from error
        self.passed_over = found.passed_over
        dumps = iter(found.parse_with(self._service.sidecars.parse))
        while True:
            with ExitStack() as spools:
                group, byte_count = list[_Read](), 0
                while byte_count < _GROUP_BYTES and (dump := next(dumps, None)):
                    group.append(read := self._read(dump, spools))
                    byte_count += 0 if isinstance(read, ZipMember) else read[0].byte_count
                if not group:
                    return
                yield group

    def _read(self, dump: Dump, spools: ExitStack) -> _Read:
        most_bytes = self._service.settings.max_dump_bytes
        name, etrecord, buffer = self._rename(dump.name), dump.etrecord, dump.debug_buffer
        if any(one and one.byte_count > most_bytes for one in (dump, etrecord, buffer)):
            detail = f"{name}: more than {most_bytes:,} bytes"
            return ZipMember(name, None, Problem(400, "too_large", detail))
        try:
            delivery = pack_delivery(dump.renamed(self._rename))
        except (SourceError, ManifestError) as error:
            return ZipMember(name, None, self._refuse(error))
        return delivery, self._copy(delivery, spools)

    def _copy(self, delivery: Delivery, spools: ExitStack) -> Spool | None:
        """A spool of a large dump, which becomes a separate log, without delaying others."""
        data = delivery.files[0]
        if len(data) < _GROUP_BYTES:
            return None
        self._service.admission.check_room(len(data))
        spool = spools.enter_context(self._service.inbox.spool())
        for start in range(0, len(data), _COPIED_BYTES):
            spool.write(data[start : start + _COPIED_BYTES])
        return spool

    def _refuse(self, error: SourceError | ManifestError) -> Problem:
        return Problem(400, error.reason, self._rename(str(error)))

    def _rename(self, text: str) -> str:
        return text.replace(str(self._path), NAME)
