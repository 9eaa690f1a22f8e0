"""Files that go into the store together: planned by size, each with what comes with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.errors import EtRecordError, ManifestError, SourceError
from ingest.manifest.resolver import ManifestResolver
from ingest.sources.companions import CompanionFinder, Companions
from ingest.sources.paths import Source, count_bytes, read_source
from warehouse.intake.containment import Trouble, contain
from warehouse.loading.records import LoggedBuffer, NewDump, Refusal
from warehouse.programs.reader import Program, ProgramReader

BATCH_BYTES = 8 << 20
BATCH_FILES = 280


class Files(NamedTuple):
    """A dump, and the files that belong to it."""

    source: Source
    companions: Companions


@dataclass
class Batch:
    """Files on their way into the store together.

    Attributes:
        files: Dumps the batch began with.
        byte_count: Bytes of these.
        n_refused_companions: ETRecords and debug buffers that came with them and were refused.
        dumps: Dumps to decode.
        buffers: Their bytes.
        seen: Dumps whose bytes were met before, in the store or in this run.
        refused: Files refused so far.
    """

    files: list[Files]
    byte_count: int
    n_refused_companions: int = 0
    dumps: list[NewDump] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    seen: list[NewDump] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    @property
    def held_bytes(self) -> int:
        """Bytes of the dumps to decode, and of the debug buffers of all."""
        logged = (dump.debug_buffer for dump in (*self.dumps, *self.seen))
        return sum(map(len, self.buffers)) + sum(len(one.data) for one in logged if one)

    def refuse(self, source: Source, reason: str, detail: str, sha256: str | None = None) -> None:
        """Put a file on record that is not taken."""
        self.refused.append(Refusal(source.name, sha256, reason, None, detail))

    def refuse_companion(self, source: Source, reason: str, detail: str) -> None:
        """Put a file on record that came with a dump."""
        self.n_refused_companions += 1
        self.refuse(source, reason, detail)


class Plan(NamedTuple):
    """Files to read together, and the bytes they take."""

    files: list[Files]
    byte_count: int


def plan_batches(sources: Iterable[Source], companions: CompanionFinder) -> Iterator[Plan]:
    """Neighbouring sources that make a batch."""
    files: list[Files] = []
    size, most_bytes, most = 0, BATCH_BYTES // 2, BATCH_FILES // 2  # a small one first: work sooner
    for source in sources:
        found = Files(source, companions.find(source))
        buffer = found.companions.debug_buffer
        more = count_bytes(source) + (count_bytes(buffer) if buffer else 0)
        if files and (size + more > most_bytes or len(files) >= most):
            yield Plan(files, size)
            files, size, most_bytes, most = [], 0, BATCH_BYTES, BATCH_FILES
        files.append(found)
        size += more
    if files:
        yield Plan(files, size)


class Describer:
    """Tells of dumps that were read what does not stand in them."""

    def __init__(self, resolver: ManifestResolver) -> None:
        """Take where manifests come from."""
        self._resolver = resolver
        self._programs = ProgramReader()
        self._broken: set[Source] = set()  # ETRecords that broke the reader

    def describe(self, files: Files, sha256: str, batch: Batch) -> NewDump | None:
        """The dump with its manifest and companions.

        Companions that cannot be read are refused, and so is a dump without a manifest.
        """
        source, companions = files
        try:
            manifest = contain(lambda: self._resolver.resolve(source))
        except (ManifestError, SourceError) as error:
            batch.refuse(source, "manifest", _describe_problem(error, source), sha256)
            return None
        if isinstance(manifest, Trouble):
            batch.refuse(source, "manifest", manifest.detail, sha256)
            return None
        if companions == (None, None):
            return NewDump(source.name, sha256, manifest)
        program = self._read_program(companions.etrecord, batch)
        buffer = _read_buffer(companions.debug_buffer, batch)
        return NewDump(source.name, sha256, manifest, program, buffer)

    def _read_program(self, source: Source | None, batch: Batch) -> Program | None:
        if source is None or source in self._broken:
            return None
        try:
            program = contain(lambda: self._programs.read(source))
        except (EtRecordError, SourceError) as error:
            batch.refuse_companion(source, "etrecord", _describe_problem(error, source))
            return None
        if isinstance(program, Trouble):
            self._broken.add(source)
            batch.refuse_companion(source, "etrecord", program.detail)
            return None
        return program


def _read_buffer(source: Source | None, batch: Batch) -> LoggedBuffer | None:
    if source is None:
        return None
    try:
        data = read_source(source)
        return LoggedBuffer(data, hashlib.sha256(data).hexdigest())
    except SourceError as error:
        batch.refuse_companion(source, error.reason, error.problem)
        return None


def _describe_problem(error: EtRecordError | ManifestError | SourceError, source: Source) -> str:
    """What is wrong, and with which file if it is another than that named beside it."""
    return error.problem if error.source == source.name else str(error)
