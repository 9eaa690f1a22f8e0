"""Files that go into the store together: planned by size, read with their manifests."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ingest import DecodedBatch, decode_dumps
from ingest.companions import CompanionFinder, Companions
from ingest.errors import EtRecordError, ManifestError, SourceError
from ingest.manifest import ManifestResolver
from ingest.sources import Source, read_source
from warehouse.dump_rows import NewDump
from warehouse.load import Refusal
from warehouse.logged_data import LoggedBuffer
from warehouse.programs import Program, ProgramReader

BATCH_BYTES = 24 << 20
BATCH_FILES = 512


class Files(NamedTuple):
    """A dump, and the files that belong to it."""

    source: Source
    companions: Companions


@dataclass
class Batch:
    """Files on their way into the store together.

    Attributes:
        n_sources: Dumps the batch began with.
        n_refused_companions: ETRecords and debug buffers that came with them and were refused.
        byte_count: Bytes of the dumps.
        dumps: Files to decode.
        buffers: Their bytes, until they are decoded.
        seen: Files whose bytes were met before, in the store or in this run.
        refused: Files refused so far.
        decoded: Content of `dumps`, once decoded; empty if the only one is big.
    """

    n_sources: int
    n_refused_companions: int = 0
    byte_count: int = 0
    dumps: list[NewDump] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    seen: list[NewDump] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    decoded: DecodedBatch = field(default_factory=partial(decode_dumps, ()))

    def refuse_companion(self, source: Source, reason: str, detail: str) -> None:
        """Put on record a file that came with a dump."""
        self.n_refused_companions += 1
        self.refused.append(Refusal(source.name, None, reason, None, detail))


def plan_batches(sources: Sequence[Source], companions: CompanionFinder) -> Iterator[list[Files]]:
    """Neighbouring sources that make a batch."""
    group: list[Files] = []
    room, most = BATCH_BYTES // 4, BATCH_FILES // 4  # a small one first: work for all sooner
    for source in sources:
        files = Files(source, companions.find(source))
        buffer = files.companions.debug_buffer
        size = _guess_size(source) + (_guess_size(buffer) if buffer else 0)
        if group and (size > room or len(group) >= most):
            yield group
            group, room, most = [], BATCH_BYTES, BATCH_FILES
        group.append(files)
        room -= size
    if group:
        yield group


def _guess_size(source: Source) -> int:
    """Bytes of a file; of a zip member a typical dump's, for batches need no precision."""
    if source.member is not None:
        return BATCH_BYTES // 128
    try:
        return os.stat(source.path).st_size
    except OSError:  # said when the file is read
        return 0


class BatchReader:
    """Reads batches of files."""

    def __init__(self, resolver: ManifestResolver) -> None:
        """Take where manifests come from."""
        self._resolver = resolver
        self._programs = ProgramReader()

    def read(self, group: list[Files]) -> Batch:
        """The bytes and manifests of some dumps, and what came with them."""
        batch = Batch(len(group))
        for source, companions in group:
            try:
                data = read_source(source)
            except SourceError as error:
                batch.refused.append(Refusal(source.name, None, "unreadable", None, error.problem))
                continue
            batch.byte_count += len(data)
            sha256 = hashlib.sha256(data).hexdigest()
            try:
                manifest = self._resolver.resolve(source)
            except ManifestError as error:
                detail = _detail(error, source)
                batch.refused.append(Refusal(source.name, sha256, "manifest", None, detail))
                continue
            program = self._read_program(companions.etrecord, batch)
            buffer = _read_buffer(companions.debug_buffer, batch)
            batch.dumps.append(NewDump(source.name, sha256, manifest, program, buffer))
            batch.buffers.append(data)
        return batch

    def _read_program(self, source: Source | None, batch: Batch) -> Program | None:
        if source is None:
            return None
        try:
            return self._programs.read(source)
        except (EtRecordError, SourceError) as error:
            batch.refuse_companion(source, "etrecord", _detail(error, source))
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


def _detail(error: EtRecordError | ManifestError | SourceError, source: Source) -> str:
    """What is wrong, and with which file if it is another than that named beside it."""
    return error.problem if error.source == source.name else str(error)
