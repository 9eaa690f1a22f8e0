"""Arrivals: an upload's body is received into files, which are closed after use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, closing
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from tracehouse.cli.serve.http.endpoints import (
    KEPT_BYTES,
    Settle,
    TooLargeProblem,
    declared_bytes,
    encoding_of,
    inflate,
    receive,
)
from tracehouse.cli.serve.http.problems import Problem, as_problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.multipart import LONGEST_NAME, NEEDED_PARTS, FormPart, PartReader
from tracehouse.cli.serve.uploads.refusals import name_of, record_request
from tracehouse.ingest.dump import HashedFile
from tracehouse.ingest.errors import IngestError, pydantic_problem
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.resolver import make_manifest
from tracehouse.ingest.manifest.runner_output import counters_of
from tracehouse.ingest.manifest.sidecars import Sidecar, SidecarParser, parse_sidecar
from tracehouse.ingest.strict_json import parse_json
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.records import Delivery, make_delivery
from tracehouse.warehouse.inbox.spools import Spool
from tracehouse.warehouse.load.children import OWN_SIDECAR_BYTES

ORDER = ("manifest", "dump", "etrecord", "debug_buffer", "log", "qhas")

_LONGEST_LINE = 4 << 10  # bytes
_WANTED = 'wanted a line like {"manifest": 81, "dump": 35560} with the sizes of a dump'

_PIECES = 2  # of an unpacked body, written without a return to the event loop
Parts = Mapping[str, FormPart]
_STATED = "manifest"  # the part that states the manifest
_PRINTED = {"log": Sidecar.LOG, "qhas": Sidecar.QHAS}
_COMPANIONS = {"etrecord": "ETRecord", "debug_buffer": "debug buffer"}


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
    parts: dict[str, FormPart]
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
        self._open: list[FormPart] = []  # parts of the record that are not complete
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

    def _make_parts(self, line: RecordLine) -> Iterator[tuple[str, FormPart]]:
        for part in ORDER:
            byte_count, name = getattr(line, part), line.name if part == "dump" else None
            if byte_count or part in NEEDED_PARTS:
                yield part, FormPart(name or "", self._inbox.spool(), byte_count)

    def _find_too_large(self, line: RecordLine) -> Problem | None:
        for part in ORDER:
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


_Files = TypeVar("_Files", Spool, PartReader, RecordReader)


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
    return max(parts[part].spool.byte_count for part in (_STATED, *_PRINTED) if part in parts)


def stated_manifest(parts: Parts, parse: SidecarParser) -> Manifest:
    """The manifest, with the counters in the runner's output.

    A ManifestError is passed on.
    """
    printed = [
        counter
        for part, kind in _PRINTED.items()
        if part in parts and parts[part].spool.byte_count
        for counter in counters_of(parse(kind, part, parts[part].spool.data))
    ]
    data = bytes(parts[_STATED].spool.data)
    if not printed:
        return parse_manifest(_STATED, data, parse)
    return make_manifest(_STATED, parse(Sidecar.MANIFEST, _STATED, data), printed)


def parse_manifest(place: str, data: bytes, parse: SidecarParser) -> Manifest:
    """The manifest that a text states.

    A ManifestError is passed on.
    """
    if len(data) <= OWN_SIDECAR_BYTES:
        return _recall(place, data)
    return make_manifest(place, parse(Sidecar.MANIFEST, place, data), [])


def deliver_parts(parts: Parts, manifest: str) -> Delivery:
    """The delivery of the dump with a manifest, as canonical JSON, and its companions."""
    name = name_of_parts(parts)
    companions = (_companion(parts, part, name) for part in _COMPANIONS)
    return make_delivery(manifest, parts["dump"].spool.hashed(name), *companions)


@lru_cache(maxsize=256)  # many dumps share a manifest
def _recall(place: str, data: bytes) -> Manifest:
    return make_manifest(place, parse_sidecar(Sidecar.MANIFEST, place, data), [])


def _companion(parts: Parts, part: str, name: str) -> HashedFile | None:
    found = parts.get(part)
    if found is None or not found.spool.byte_count:  # a form without a file sends an empty part
        return None
    return found.spool.hashed(found.file_name or f"{name}: {_COMPANIONS[part]}")
