"""Uploads of many dumps in one request, each with a result of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.access.authorization import Bearer, Scope, check_pool
from tracehouse.cli.serve.http.endpoints import BYTES, Content, Operation
from tracehouse.cli.serve.http.problems import Problem, as_problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.arrivals import (
    Record,
    RecordReader,
    close_spools,
    count_sidecar_bytes,
    deliver_parts,
    received,
    refusing,
    stated_manifest,
    threads_for,
)
from tracehouse.cli.serve.uploads.dumps import ENCODING, PROBLEMS, SHA256_TEXT
from tracehouse.cli.serve.uploads.refusals import UNNAMED, name_of, record_refusal
from tracehouse.ingest.errors import IngestError
from tracehouse.ingest.manifest.sidecars import SidecarParser
from tracehouse.ingest.remote import MOST_DUMPS
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.accept import Outcome
from tracehouse.warehouse.inbox.records import Delivery
from tracehouse.warehouse.inbox.spools import Spool

_RESULTS: Content = {
    "application/json": {
        "type": "object",
        "required": ["dumps"],
        "properties": {
            "dumps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["status"],
                    "properties": {
                        "status": {"type": "integer", "description": "As of a single upload."},
                        "sha256": SHA256_TEXT,
                        "name": {"type": "string"},
                        "state": {"enum": ["accepted", "indexed"]},
                        "reason": {"type": "string"},
                        "detail": {"type": "string"},
                    },
                },
            }
        },
    }
}


@Operation(
    "/v1/dumps:batch",
    f"Upload up to {MOST_DUMPS} dumps, each after a line of JSON with the sizes of its parts.",
    {200: _RESULTS, 201: _RESULTS},
    (ENCODING,),
    "post",
    (Scope.INGEST,),
    {"application/octet-stream": BYTES},
    PROBLEMS,
    guard=refusing,
)
async def post_batch(request: Request) -> Response:
    """Accept the dumps of a stream while it arrives; the answer has the result of each, in order.

    Raises:
        Problem: The rest of the stream cannot be read; it has the results of the dumps before.
    """
    service: Service = request.app.state.service
    batch, most_bytes = _Batch(service, request.state.bearer), service.settings.max_body_bytes
    try:
        async with received(request, batch.reader, most_bytes, settle=batch.settle):
            batch.reader.end()
            await batch.settle()
    except (Problem, StoreError) as error:
        problem = as_problem(error)
        record_refusal(service, problem, UNNAMED, None)
        problem.more = {**problem.more, "dumps": [one.content() for one in batch.results]}
        raise problem from error.__cause__
    finally:
        request.state.what = ", ".join(one.sha256 for one in batch.results)
    is_new = any(isinstance(one.result, Outcome) and one.result.is_new for one in batch.results)
    content = {"dumps": [one.content() for one in batch.results]}
    return JSONResponse(content, 201 if is_new else 200, headers=_pause(batch.results))


class _Upload(NamedTuple):
    """A dump of the stream, and its result.

    Attributes:
        name: Name that the line states; None without one.
        sha256: Empty if the dump was not received, because it is too large.
        manifest: As canonical JSON; None if it is not valid.
        result: A delivery until it is committed.
    """

    name: str | None
    sha256: str
    manifest: str | None
    result: Delivery | Outcome | Problem

    def content(self) -> dict[str, object]:
        """The upload's fields in the answer."""
        names = {"name": self.name, "sha256": self.sha256}
        fields: dict[str, object] = {name: text for name, text in names.items() if text}
        if isinstance(self.result, Problem):
            return {**fields, **self.result.content()}
        if isinstance(self.result, Outcome):
            fields |= {"status": 201 if self.result.is_new else 200, "state": self.result.state}
        return fields


class _Batch:
    """The dumps of a stream, committed while the next ones arrive."""

    def __init__(self, service: Service, bearer: Bearer) -> None:
        self._service, self._bearer = service, bearer
        self.reader = RecordReader(service.inbox, service.settings.max_dump_bytes, MOST_DUMPS)
        self.results: list[_Upload] = []

    async def settle(self) -> None:
        """Commit the dumps that are complete.

        Raises:
            Problem: The rest of the stream cannot be read.
        """
        records, self.reader.records = self.reader.records, []
        try:
            if records:
                self.results += await self._commit(records)
        finally:
            spools = [spool for record in records for spool in record.spools]
            await close_spools(self._service, spools)
        if self.reader.problem:
            raise self.reader.problem

    async def _commit(self, records: Sequence[Record]) -> list[_Upload]:
        prepare = partial(_prepare_all, records, self._bearer, self._service.sidecars.parse)
        longest = max(count_sidecar_bytes(record.parts) for record in records)
        uploads = await run_to_end(threads_for(self._service, longest), prepare)
        waiting = [
            (one.result, record.parts["dump"].spool)
            for one, record in zip(uploads, records, strict=True)
            if isinstance(one.result, Delivery)
        ]
        results = iter(await self._commit_deliveries(waiting))
        uploads = [
            one._replace(result=next(results)) if isinstance(one.result, Delivery) else one
            for one in uploads
        ]
        for one in uploads:
            if isinstance(one.result, Problem):
                name = one.name or (name_of(one.sha256) if one.sha256 else UNNAMED)
                record_refusal(self._service, one.result, name, one.sha256 or None, one.manifest)
        return uploads

    async def _commit_deliveries(
        self, waiting: Sequence[tuple[Delivery, Spool]]
    ) -> list[Outcome | Problem]:
        """Commit deliveries unless too many dumps wait to be indexed."""
        try:
            byte_count = sum(delivery.byte_count for delivery, _ in waiting)
            self._service.admission.check_backlog(byte_count)
        except Problem as problem:
            return [problem] * len(waiting)
        results = await self._service.commits.commit_all(self._bearer, waiting)
        return [as_problem(one) if isinstance(one, StoreError) else one for one in results]


def _prepare_all(records: Sequence[Record], bearer: Bearer, parse: SidecarParser) -> list[_Upload]:
    return [_prepare(record, bearer, parse) for record in records]


def _prepare(record: Record, bearer: Bearer, parse: SidecarParser) -> _Upload:
    """The upload of a record, which is refused or waits to be committed."""
    stated, manifest = record.line.sha256, None
    if record.problem:
        return _Upload(record.line.name, "", manifest, record.problem)
    sha256 = record.parts["dump"].spool.sha256
    result: Delivery | Problem
    try:
        found = stated_manifest(record.parts, parse)
        manifest = found.canonical_json()
        check_pool(bearer, found.device.pool)
        result = deliver_parts(record.parts, manifest)
    except (Problem, IngestError) as error:
        result = as_problem(error)
    if stated not in (None, sha256):
        detail = f"the bytes have SHA-256 {sha256}, the line states {stated}: send it again"
        result = Problem(400, "sha256", detail)
    return _Upload(record.line.name, sha256, manifest, result)


def _pause(uploads: Sequence[_Upload]) -> dict[str, str]:
    """The header that says when to send deferred dumps again."""
    problems = (one.result for one in uploads if isinstance(one.result, Problem))
    pauses = [pause for one in problems if (pause := (one.headers or {}).get("Retry-After"))]
    return {"Retry-After": max(pauses, key=int)} if pauses else {}
