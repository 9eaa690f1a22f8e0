"""Uploads of many dumps in one request, each with a result of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.access.authorization import Bearer, Scope, check_pool
from tracehouse.cli.serve.http.endpoints import BYTES, Content, Operation, TooLargeProblem
from tracehouse.cli.serve.http.problems import Problem, as_problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.arrivals import (
    LONGEST_NAME,
    NEEDED_PARTS,
    PARTS,
    Part,
    close_spools,
    count_sidecar_bytes,
    deliver_parts,
    parse_manifest,
    receive_parts,
    report_refusals,
    threads_for,
)
from tracehouse.cli.serve.uploads.commits import UNNAMED, name_of, record_refusal
from tracehouse.cli.serve.uploads.dumps import ENCODING, PROBLEMS, SHA256_TEXT
from tracehouse.ingest.errors import IngestError, pydantic_problem
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES
from tracehouse.ingest.manifest.sidecars import SidecarParser
from tracehouse.ingest.remote import MOST_DUMPS
from tracehouse.ingest.strict_json import parse_json
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.accept import Outcome
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.records import Delivery
from tracehouse.warehouse.inbox.spools import Spool

_LONGEST_LINE = 4 << 10  # bytes
_WANTED = 'wanted a line like {"manifest": 81, "dump": 35560} with the sizes of a dump'
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


class RecordProblem(Problem):
    """A stream is malformed, so that no record after this offset can be found."""

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(400, "record", f"offset {offset:,}: {problem}")


class RecordLine(BaseModel):
    """The line before the parts of a dump: their sizes in bytes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    manifest: int = Field(ge=0)
    dump: int = Field(ge=0)
    etrecord: int = Field(default=0, ge=0)
    debug_buffer: int = Field(default=0, ge=0)
    log: int = Field(default=0, ge=0)
    qhas: int = Field(default=0, ge=0)
    sha256: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="Of the dump, which is then checked."
    )
    name: str | None = Field(
        default=None, min_length=1, max_length=LONGEST_NAME, description="Of the dump's file."
    )


class Record(NamedTuple):
    """A dump: its line, its parts by name, and why it is refused because of its size."""

    line: RecordLine
    parts: dict[str, Part]
    problem: Problem | None

    @property
    def spools(self) -> list[Spool]:
        """The contents of the parts, for the caller to close."""
        return [part.spool for part in self.parts.values()]


class RecordReader:
    """Splits a stream into records while it arrives; close the `spools` afterwards.

    Attributes:
        records: Complete records, for the caller to take.
        problem: Why the rest of the stream is not read; None while it is.
    """

    def __init__(self, inbox: Inbox, most_bytes: int, most_records: int) -> None:
        """Begin; `most_bytes` limits a file."""
        self.records: list[Record] = []
        self.problem: Problem | None = None
        self._inbox, self._most_bytes, self._left = inbox, most_bytes, most_records
        self._most_records = most_records
        self._line = bytearray()
        self._record: Record | None = None
        self._open: list[Part] = []  # parts of the record that are not complete
        self._filled = 0  # bytes of the first of them
        self._offset = 0

    def write(self, piece: bytes) -> None:
        """Split the next piece of the stream. A StoreError is passed on."""
        view, at = memoryview(piece), 0
        while at < len(piece) and not self.problem:
            if self._record:
                at += self._fill(self._record, view[at:])
            else:
                at += self._extend_line(piece, at)
        self._offset += len(piece)

    def end(self) -> None:
        """Note a problem if the stream ends inside a record."""
        if not self.problem and (self._record or self._line):
            self.problem = RecordProblem(self._offset, "the stream ends inside a record")

    @property
    def spools(self) -> list[Spool]:
        """The contents of the records that were not taken, for the caller to close."""
        untaken = [*self.records, *([self._record] if self._record else [])]
        return [spool for record in untaken for spool in record.spools]

    def _extend_line(self, piece: bytes, at: int) -> int:
        """Read up to the end of the line; returns the number of bytes."""
        end = piece.find(b"\n", at) + 1 or len(piece)
        start = self._offset + at - len(self._line)
        self._line += piece[at:end]
        if len(self._line) > _LONGEST_LINE:
            detail = f"wanted a line of at most {_LONGEST_LINE:,} bytes with the sizes of a dump"
            self.problem = RecordProblem(start, detail)
        elif self._line.endswith(b"\n"):
            self._begin(start)
        return end - at

    def _begin(self, start: int) -> None:
        """Begin the record of the line."""
        try:
            line = RecordLine.model_validate(parse_json(bytes(self._line)))
        except (ValueError, RecursionError) as error:
            self.problem = RecordProblem(start, f"{_explain(error)}; {_WANTED}")
            return
        if not self._left:
            detail = f"offset {start:,}: more than {self._most_records:,} dumps: send them in parts"
            self.problem = Problem(413, "too_many", detail)
            return
        self._left -= 1
        self._line.clear()
        self._record = Record(line, dict(self._make_parts(line)), self._find_too_large(line))
        self._open = list(self._record.parts.values())
        self._go_on(self._record)

    def _make_parts(self, line: RecordLine) -> Iterator[tuple[str, Part]]:
        for part in PARTS:
            byte_count, name = getattr(line, part), line.name if part == "dump" else None
            if byte_count or part in NEEDED_PARTS:
                yield part, Part(name or "", self._inbox.spool(), byte_count)

    def _find_too_large(self, line: RecordLine) -> Problem | None:
        for part in PARTS:
            most_bytes = MAX_MANIFEST_BYTES if part == "manifest" else self._most_bytes
            if getattr(line, part) > most_bytes:
                return TooLargeProblem(most_bytes)
        return None

    def _fill(self, record: Record, view: memoryview) -> int:
        """Fill the part that is open; returns the number of bytes."""
        part = self._open[0]
        taken = view[: part.most_bytes - self._filled]
        if not record.problem:
            part.spool.write(taken)
        self._filled += len(taken)
        self._go_on(record)
        return len(taken)

    def _go_on(self, record: Record) -> None:
        """Open the next part if one is complete, and end the record after its last one."""
        while self._open and self._filled == self._open[0].most_bytes:
            del self._open[0]
            self._filled = 0
        if not self._open:
            self.records.append(record)
            self._record = None


def _explain(error: ValueError | RecursionError) -> str:
    """What is wrong with a line."""
    if isinstance(error, RecursionError):
        return "the line is too deep"
    if not isinstance(error, ValidationError):
        return f"the line {error}"
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    problem = pydantic_problem(first["msg"])
    return f"{place}: {problem}" if place else problem


@Operation(
    "/v1/dumps:batch",
    f"Upload up to {MOST_DUMPS} dumps, each after a line of JSON with the sizes of its parts.",
    {200: _RESULTS, 201: _RESULTS},
    (ENCODING,),
    "post",
    (Scope.INGEST,),
    {"application/octet-stream": BYTES},
    PROBLEMS,
    guard=report_refusals,
)
async def post_batch(request: Request) -> Response:
    """Accept the dumps of a stream while it arrives; the answer has the result of each, in order.

    Raises:
        Problem: The rest of the stream cannot be read; it has the results of the dumps before.
    """
    service: Service = request.app.state.service
    batch = _Batch(service, request.state.bearer)
    try:
        async with receive_parts(request, batch.reader, settle=batch.settle):
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
        found = parse_manifest(record.parts, parse)
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
