"""Archive entries as batches to load: dumps, and changes to apply after them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import duckdb

from tracehouse.ingest.dump import Companion, HashedFile
from tracehouse.ingest.errors import EtRecordError
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import (
    AMENDED,
    COMPANIONS,
    DEBUG_BUFFER,
    DROPPED,
    DUMP,
    ERASED,
    ETRECORD,
    FORGOTTEN,
    Entry,
)
from tracehouse.warehouse.archive.history import read_indexed
from tracehouse.warehouse.archive.segments import Segment, read_entries
from tracehouse.warehouse.errors import ArchiveError
from tracehouse.warehouse.load.batches import BATCH_BYTES, BATCH_FILES, Batch, EndedSegment
from tracehouse.warehouse.load.decoders import OWN_DECODER, Decoder
from tracehouse.warehouse.load.entries import parse_manifest
from tracehouse.warehouse.load.isolate import ChildError
from tracehouse.warehouse.load.new_dump import NewDump
from tracehouse.warehouse.programs.reader import Program, ProgramReader

_ABOUT_DUMPS = {DUMP, COMPANIONS, AMENDED, DROPPED, FORGOTTEN}
_ANY = "SELECT count(*) > 0 FROM dumps"
_STORED = "SELECT sha256 FROM dumps WHERE sha256 IN (SELECT unnest(?))"


class Selection(NamedTuple):
    """The entries of an archive to replay.

    Attributes:
        segments: Their segments, in order.
        numbers: Numbers of original segments; entries of other ones are left out. None for all.
        dumps: SHA-256 of dumps; entries about anything else are left out. None for all.
    """

    segments: Sequence[Segment]
    numbers: Collection[int] | None = None
    dumps: Collection[str] | None = None

    def read(self, segment: Segment) -> Iterator[tuple[int, Entry]]:
        """The selected entries of a segment; bytes are read only if one of the dumps is there."""
        if self.dumps is not None:
            listed = [*filter(self._has, read_entries(segment, with_data=False))]
            if not any(entry.kind == DUMP for _, entry in listed):
                yield from listed
                return
        yield from filter(self._has, read_entries(segment))

    def _has(self, numbered: tuple[int, Entry]) -> bool:
        number, entry = numbered
        is_dump = self.dumps is None or (entry.kind in _ABOUT_DUMPS and entry.sha256 in self.dumps)
        return is_dump and (self.numbers is None or number in self.numbers)


class ArchiveReader:
    """Reads the batches of one replay."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        archive: Archive,
        decoder: Decoder = OWN_DECODER,
    ) -> None:
        self._connection, self._archive = connection, archive
        self._programs = ProgramReader(decoder.read_program)
        self._indexed = read_indexed(connection)
        ((self._has_dumps,),) = connection.execute(_ANY).fetchall()  # before the replay
        self._seen: set[bytes] = set()  # starts of hashes of dumps
        self._held: dict[str, Entry] = {}  # files of the current segment
        self._records: dict[str, Companion] = {}  # ETRecords so far

    def batches(self, selection: Selection) -> Iterator[Batch]:
        """Batches of the selected entries in order, without what the store has already.

        A dump is a duplicate where companions are attached to it.

        Raises:
            ArchiveError: A segment is damaged or gone.
        """
        for segment in selection.segments:
            for number, entries in groupby(selection.read(segment), itemgetter(0)):
                if number not in self._indexed:
                    yield from self._segment(number, (entry for _, entry in entries))
                self._held.clear()

    def _segment(self, number: int, entries: Iterable[Entry]) -> Iterator[Batch]:
        batch, count = Batch(), 0
        files: list[dict[str, Any]] = []
        for entry in entries:
            count += 1
            if entry.data is not None:
                files.append(_file_row(entry, number))
            if batch.byte_count >= BATCH_BYTES or len(batch.dumps) >= BATCH_FILES:
                yield self._without_stored(batch)
                batch = Batch()
            self._take(entry, batch)
        batch.ended = EndedSegment(number, count, files)
        yield self._without_stored(batch)

    def _take(self, entry: Entry, batch: Batch) -> None:
        sha256 = entry.sha256 or ""
        if entry.kind == DUMP:
            key = bytes.fromhex(sha256)[:16]
            if key not in self._seen:
                self._seen.add(key)
                batch.dumps.append(self._new_dump(entry, batch))
                batch.byte_count += len(entry.data)
        elif entry.kind == COMPANIONS:
            dump = self._new_dump(entry, batch)
            known = dump.manifest.canonical_json()
            batch.duplicates.append(dump._replace(known_manifest=known))
        elif entry.kind in (ETRECORD, DEBUG_BUFFER):
            self._held[sha256] = entry
        elif entry.kind != ERASED:
            batch.changes.append(entry)
            if entry.kind == FORGOTTEN:  # the dump may be ingested again
                self._seen.discard(bytes.fromhex(sha256)[:16])

    def _without_stored(self, batch: Batch) -> Batch:
        if not self._has_dumps:
            return batch
        hashes = [dump.sha256 for dump in batch.dumps]
        stored = {row[0] for row in self._connection.execute(_STORED, [hashes]).fetchall()}
        batch.dumps = [dump for dump in batch.dumps if dump.sha256 not in stored]
        return batch

    def _new_dump(self, entry: Entry, batch: Batch) -> NewDump:
        """The dump of an entry, with its companions; the batch refuses those it cannot read.

        Raises:
            ArchiveError: The archive lacks a companion.
        """
        manifest = parse_manifest(str(entry.manifest))
        return NewDump(
            entry.name,
            str(entry.sha256),
            manifest,
            self._program(entry.etrecord_sha256, manifest.method, batch),
            self._buffer(entry.debug_buffer_sha256),
            entry.data,
            entry.ids,
            entry.recorded_at,
        )

    def _program(self, sha256: str | None, method: str | None, batch: Batch) -> Program | None:
        if sha256 is None:
            return None
        if sha256 not in self._records:
            name = self._find(sha256).name
            self._records[sha256] = Companion(name, lambda: self._find(sha256).data, key=sha256)
        file = self._records[sha256]
        try:
            return self._programs.read(file, method)
        except EtRecordError as error:  # another version accepted it
            batch.refuse_companion(file.name, "etrecord", error.problem)
            return None
        except ChildError as error:
            problem = f"{file.name} cannot be read: {error}"
            raise ArchiveError(str(self._archive.folder), problem) from error

    def _buffer(self, sha256: str | None) -> HashedFile | None:
        if sha256 is None:
            return None
        entry = self._find(sha256)
        return HashedFile(entry.name, entry.data, sha256)

    def _find(self, sha256: str) -> Entry:
        entry = self._held.get(sha256) or self._archive.find(sha256)
        if entry is None:
            raise ArchiveError(str(self._archive.folder), f"has no file of SHA-256 {sha256}")
        return entry


def _file_row(entry: Entry, segment: int) -> dict[str, Any]:
    size = len(entry.data)
    return {"sha256": entry.sha256, "kind": entry.kind, "byte_count": size, "segment": segment}
