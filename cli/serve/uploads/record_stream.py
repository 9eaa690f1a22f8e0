"""Streams of dumps, split into records while they arrive.

A record is a line of JSON with the sizes of its parts, and then the bytes of the parts, in the
order of `ORDER` whatever the order in the line. So a dump is complete with its last byte, and can
be committed while the next ones arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracehouse.cli.serve.http.bodies import TooLargeProblem
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.uploads.multipart import LONGEST_NAME, NEEDED_PARTS, FormPart
from tracehouse.ingest.errors import pydantic_problem
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES
from tracehouse.ingest.strict_json import parse_json
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.spools import Spool

ORDER = ("manifest", "dump", "etrecord", "debug_buffer", "log", "qhas")

_LONGEST_LINE = 4 << 10  # bytes
_WANTED = 'wanted a line like {"manifest": 81, "dump": 35560} with the sizes of a dump'


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
