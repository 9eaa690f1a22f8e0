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
from warehouse.load import NewDump, Refusal
from warehouse.programs import Program, read_program

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
        n_files: Files the batch began with, and refused ones that came with them.
        byte_count: Bytes read from them.
        dumps: Files to decode.
        buffers: Their bytes, until they are decoded.
        seen: Files whose bytes were met before, in the store or in this run.
        refused: Files refused so far.
        decoded: Content of `dumps`, once decoded; empty if the only one is big.
    """

    n_files: int
    byte_count: int = 0
    dumps: list[NewDump] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    seen: list[NewDump] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    decoded: DecodedBatch = field(default_factory=partial(decode_dumps, ()))

    def refuse_companion(self, refusal: Refusal) -> None:
        """Put on record a file that came with a dump; it counts as a file of the batch."""
        self.n_files += 1
        self.refused.append(refusal)


def plan_batches(sources: Sequence[Source], companions: CompanionFinder) -> Iterator[list[Files]]:
    """Neighbouring sources that make a batch."""
    group: list[Files] = []
    room = BATCH_BYTES
    for source in sources:
        files = Files(source, companions.find(source))
        buffer = files.companions.debug_buffer
        size = _guess_size(source) + (_guess_size(buffer) if buffer else 0)
        if group and (size > room or len(group) == BATCH_FILES):
            yield group
            group, room = [], BATCH_BYTES
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
    """Reads batches of files; an ETRecord that several dumps share, once."""

    def __init__(self, resolver: ManifestResolver) -> None:
        """Take where manifests come from."""
        self._resolver = resolver
        self._programs: dict[Source, Program | Refusal | None] = {}

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
                detail = error.problem if error.source == source.name else str(error)
                batch.refused.append(Refusal(source.name, sha256, "manifest", None, detail))
                continue
            found = self._read_companions(companions, batch) if any(companions) else (None, None)
            batch.dumps.append(NewDump(source.name, sha256, manifest, *found))
            batch.buffers.append(data)
        return batch

    def _read_companions(
        self, companions: Companions, batch: Batch
    ) -> tuple[Program | None, bytes | memoryview | None]:
        program, buffer = None, None
        if companions.etrecord is not None:
            if companions.etrecord not in self._programs:
                self._programs[companions.etrecord] = _read_program(companions.etrecord)
            known = self._programs[companions.etrecord]
            if isinstance(known, Program):
                program = known
            elif known is not None:
                self._programs[companions.etrecord] = None  # said once is enough
                batch.refuse_companion(known)
        if companions.debug_buffer is not None:
            try:
                buffer = read_source(companions.debug_buffer)
            except SourceError as error:
                name = companions.debug_buffer.name
                batch.refuse_companion(Refusal(name, None, "unreadable", None, error.problem))
        return program, buffer


def _read_program(source: Source) -> Program | Refusal:
    try:
        return read_program(source)
    except (EtRecordError, SourceError) as error:
        return Refusal(source.name, None, "etrecord", None, str(error))
