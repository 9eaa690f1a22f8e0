"""Files that go into the store together: planned by size, each with what comes with it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.companions import CompanionFinder, Companions
from ingest.errors import EtRecordError, ManifestError, SourceError
from ingest.manifest import ManifestResolver
from ingest.sources import Source, read_source
from warehouse.new_dumps import LoggedBuffer, NewDump, Refusal
from warehouse.programs import Program, ProgramReader

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
        big: Their bytes, if they are too many to be decoded at once.
        seen: Dumps whose bytes were met before, in the store or in this run.
        refused: Files refused so far.
    """

    files: list[Files]
    byte_count: int
    n_refused_companions: int = 0
    dumps: list[NewDump] = field(default_factory=list)
    big: list[Any] = field(default_factory=list)
    seen: list[NewDump] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    def refuse(self, source: Source, reason: str, detail: str, sha256: str | None = None) -> None:
        """Put a file on record that is not taken."""
        self.refused.append(Refusal(source.name, sha256, reason, None, detail))

    def refuse_companion(self, source: Source, reason: str, detail: str) -> None:
        """Put a file on record that came with a dump."""
        self.n_refused_companions += 1
        self.refuse(source, reason, detail)


def plan_batches(sources: Sequence[Source], companions: CompanionFinder) -> Iterator[list[Files]]:
    """Neighbouring sources that make a batch."""
    files: list[Files] = []
    room, most = BATCH_BYTES // 2, BATCH_FILES // 2  # a small one first: work for all sooner
    for source in sources:
        found = Files(source, companions.find(source))
        buffer = found.companions.debug_buffer
        size = _guess_size(source) + (_guess_size(buffer) if buffer else 0)
        if files and (size > room or len(files) >= most):
            yield files
            files, room, most = [], BATCH_BYTES, BATCH_FILES
        files.append(found)
        room -= size
    if files:
        yield files


def _guess_size(source: Source) -> int:
    """Bytes of a file; of a zip member a typical dump's, for batches need no precision."""
    if source.member is not None:
        return BATCH_BYTES // 128
    try:
        return os.stat(source.path).st_size
    except OSError:  # said when the file is read
        return 0


class Describer:
    """Tells of dumps that were read what does not stand in them."""

    def __init__(self, resolver: ManifestResolver) -> None:
        """Take where manifests come from."""
        self._resolver = resolver
        self._programs = ProgramReader()

    def describe(self, files: Files, sha256: str, batch: Batch) -> NewDump | None:
        """The dump with its manifest and companions.

        Companions that cannot be read are refused, and so is a dump without a manifest.
        """
        source, companions = files
        try:
            manifest = self._resolver.resolve(source)
        except (ManifestError, SourceError) as error:
            batch.refuse(source, "manifest", _describe_problem(error, source), sha256)
            return None
        if companions == (None, None):
            return NewDump(source.name, sha256, manifest)
        program = self._read_program(companions.etrecord, batch)
        buffer = _read_buffer(companions.debug_buffer, batch)
        return NewDump(source.name, sha256, manifest, program, buffer)

    def _read_program(self, source: Source | None, batch: Batch) -> Program | None:
        if source is None:
            return None
        try:
            return self._programs.read(source)
        except (EtRecordError, SourceError) as error:
            batch.refuse_companion(source, "etrecord", _describe_problem(error, source))
            return None


def _read_buffer(source: Source | None, batch: Batch) -> LoggedBuffer | None:
    if source is None:
        return None
    try:
        data = read_source(source)
        return LoggedBuffer(data, hashlib.sha256(data).hexdigest())
    except SourceError as error:
        batch.refuse_companion(source, "unreadable", error.problem)
        return None


def _describe_problem(error: EtRecordError | ManifestError | SourceError, source: Source) -> str:
    """What is wrong, and with which file if it is another than that named beside it."""
    return error.problem if error.source == source.name else str(error)
