"""Batches of dumps, planned by size, each dump with its manifest and companions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Companion, Dump, HashedFile, Refusal, describe_problem
from tracehouse.ingest.errors import EtRecordError, ManifestError, SourceError
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.load.content import (
    UNDECODABLE,
    Content,
    Decoder,
    Failure,
    NewDump,
    isolate,
    isolate_each,
)
from tracehouse.warehouse.programs.reader import Program, ProgramReader

BATCH_BYTES = 4 << 20
BATCH_FILES = 140


class EndedSegment(NamedTuple):
    """A segment of the archive whose entries are all in the store, and the files in it."""

    number: int
    entry_count: int
    files: list[dict[str, Any]]


@dataclass
class Batch:
    """Dumps that are loaded into the store together.

    Attributes:
        file_count: Number of planned dumps.
        byte_count: Bytes of the planned dumps.
        n_refused_companions: Number of refused ETRecords and debug buffers.
        dumps: Dumps to decode.
        duplicates: Dumps whose bytes are in the store, or came earlier in this run.
        refused: Files refused so far.
        contents: The dumps as decoded; empty if they are so big that they are to be streamed.
        changes: Other entries of the archive, to apply after the dumps.
        ended: The segment that ends with this batch, if the dumps are from the archive.
    """

    file_count: int = 0
    byte_count: int = 0
    n_refused_companions: int = 0
    dumps: list[NewDump] = field(default_factory=list)
    duplicates: list[NewDump] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    contents: list[Content] = field(default_factory=list)
    changes: list[Entry] = field(default_factory=list)
    ended: EndedSegment | None = None

    @property
    def n_events(self) -> int:
        """Number of decoded events."""
        return sum(content.decoded.tables["events"].num_rows for content in self.contents)

    @property
    def held_bytes(self) -> int:
        """Bytes of the dumps and of their debug buffers."""
        held = sum(len(dump.data) for dump in self.all_dumps() if dump.data is not None)
        return held + sum(self.logged_bytes())

    def all_dumps(self) -> list[NewDump]:
        """The dumps to decode, then the duplicates."""
        return [*self.dumps, *self.duplicates]

    def logged_bytes(self) -> list[int]:
        """Bytes of each debug buffer."""
        return [len(dump.debug_buffer.data) for dump in self.all_dumps() if dump.debug_buffer]

    def program_ids(self) -> set[int]:
        """Ids of the ETRecords of its dumps."""
        return {dump.program.id for dump in self.all_dumps() if dump.program}

    def refuse_companion(self, name: str, reason: str, detail: str, data: Any = None) -> None:
        """Refuse a companion of a dump."""
        self.n_refused_companions += 1
        sha256 = None if data is None else hashlib.sha256(data).hexdigest()
        self.refused.append(Refusal(name, sha256, reason, None, detail, data))

    def refuse_buffer(self, dump: NewDump, reason: str, detail: str) -> None:
        """Refuse a dump's debug buffer, but load the dump."""

        def bare(one: NewDump) -> NewDump:
            return one._replace(debug_buffer=None) if one is dump else one

        if dump.debug_buffer:
            name, data, _ = dump.debug_buffer
            self.refuse_companion(
                name, reason, f"the debug buffer of {dump.source}: {detail}", data
            )
            self.dumps = [bare(one) for one in self.dumps]
            self.duplicates = [bare(one) for one in self.duplicates]


def plan_batches(dumps: Iterable[Dump]) -> Iterator[list[Dump]]:
    """Groups of neighbouring dumps, each for one batch."""
    return batches(dumps, size_of, BATCH_BYTES, BATCH_FILES)


def size_of(dump: Dump) -> int:
    """Bytes of a dump and its debug buffer; an unknown size counts as 0."""
    return dump.byte_count + (dump.debug_buffer.byte_count if dump.debug_buffer else 0)


class ManifestAndCompanions:
    """Reads the manifests, ETRecords and debug buffers of dumps."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._programs = ProgramReader(decoder.read_program)
        self._broken: set[object] = set()  # keys of ETRecords that broke the decoder

    def read(self, dump: Dump, file: HashedFile, batch: Batch) -> NewDump | None:
        """The dump with its manifest and companions.

        Companions that cannot be read are refused; so is a dump without a manifest (None).
        """
        name, data, sha256 = file
        try:
            manifest = dump.manifest()
        except (ManifestError, SourceError) as error:
            detail = describe_problem(error, name)
            batch.refused.append(Refusal(name, sha256, "manifest", None, detail, data))
            return None
        program = self._read_program(dump.etrecord, manifest.method, batch)
        buffer = _read_buffer(dump.debug_buffer, batch)
        return NewDump(name, sha256, manifest, program, buffer, data)

    def try_buffers(self, batch: Batch) -> None:
        """Refuse debug buffers that crash the decoder, but load their dumps."""
        logged = [dump for dump in batch.all_dumps() if dump.debug_buffer]
        isolate_each(
            logged,
            self._decoder.try_buffers,
            lambda dump, failure: batch.refuse_buffer(
                dump, UNDECODABLE, failure.blame(dump.source)
            ),
        )

    def _read_program(
        self, file: Companion | None, method: str | None, batch: Batch
    ) -> Program | None:
        if file is None or file.key in self._broken:
            return None
        try:
            program = isolate(lambda: self._programs.read(file, method))
        except SourceError as error:
            batch.refuse_companion(file.name, "etrecord", describe_problem(error, file.name))
            return None
        except EtRecordError as error:
            problem = describe_problem(error, file.name)
            batch.refuse_companion(file.name, "etrecord", problem, file.read())
            return None
        if isinstance(program, Failure):
            self._broken.add(file.key)
            batch.refuse_companion(file.name, "etrecord", program.blame(file.name), file.read())
            return None
        return program


def _read_buffer(file: Companion | None, batch: Batch) -> HashedFile | None:
    if file is None:
        return None
    try:
        return file.read_hashed()
    except SourceError as error:
        batch.refuse_companion(file.name, error.reason, error.problem)
        return None
