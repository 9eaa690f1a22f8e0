"""Replaying archive entries into a store, to rebuild it or to catch up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.dump import Companion, HashedFile, Refusal
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.schemas.upkeep import ARCHIVE_SEGMENTS, ARCHIVED_FILES
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import (
    AMENDED,
    COMPANIONS,
    DEBUG_BUFFER,
    DECIDED,
    DROPPED,
    DUMP,
    ERASED,
    ETRECORD,
    FORGOTTEN,
    JUDGED,
    REFUSED,
    SETTLED,
    Entry,
)
from tracehouse.warehouse.archive.history import read_indexed
from tracehouse.warehouse.archive.segments import Segment, read_entries
from tracehouse.warehouse.engine.connection import insert_rows, open_cursor, transaction
from tracehouse.warehouse.errors import ArchiveError, UnloadableDumpsError
from tracehouse.warehouse.load.batches import BATCH_BYTES, BATCH_FILES, Batch, EndedSegment
from tracehouse.warehouse.load.committer import Committer
from tracehouse.warehouse.load.content import OWN_DECODER, ChildError, Decoder, NewDump
from tracehouse.warehouse.load.loader import Loader, parse_manifest, refusal_of
from tracehouse.warehouse.load.pipeline import count_cores, decoded_groups, tuned_interpreter
from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary
from tracehouse.warehouse.programs.reader import Program, ProgramReader
from tracehouse.warehouse.upkeep.amend import amend_dumps
from tracehouse.warehouse.upkeep.decide import store_decisions
from tracehouse.warehouse.upkeep.forget import delete_dumps
from tracehouse.warehouse.upkeep.nights import store_nights
from tracehouse.warehouse.upkeep.retain import drop_events

CHANGES = {
    AMENDED: amend_dumps,
    DROPPED: drop_events,
    FORGOTTEN: delete_dumps,
    DECIDED: store_decisions,
    JUDGED: store_nights,
}

_ABOUT_DUMPS = {DUMP, COMPANIONS, AMENDED, DROPPED, FORGOTTEN}
_ANY = "SELECT count(*) > 0 FROM dumps"
_STORED = "SELECT sha256 FROM dumps WHERE sha256 IN (SELECT unnest(?))"


def apply_changes(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Apply upkeep entries in order, in the open transaction; other entries are skipped."""
    for kind, some in groupby(entries, attrgetter("kind")):
        if kind in CHANGES:
            CHANGES[kind](connection, list(some))


def replay(
    connection: duckdb.DuckDBPyConnection,
    archive: Archive,
    selection: Selection,
    *,
    decoder: Decoder = OWN_DECODER,
    lost: list[Refusal] | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Apply entries of the archive to a store, unless it already has them.

    Args:
        connection: The store's writing connection.
        archive: The archive.
        selection: The entries to apply.
        decoder: Decodes the dumps.
        lost: Receives the dumps that cannot be loaded, instead of an error.
        progress: Called after each commit.

    Returns:
        Segments replayed, as files, and the dumps and events in them.

    Raises:
        ArchiveError: A segment is damaged or gone; earlier entries are in the store.
        UnloadableDumpsError: A dump cannot be loaded, although it could be when it was archived.
    """
    done, total = IngestSummary(), sum(1 + one.last - one.first for one in selection.segments)
    workers = max(count_cores() - 1, 1)
    committer = _ReplayCommitter(connection, archive, decoder, lost)
    with (
        ThreadPoolExecutor(workers) as pool,
        open_cursor(connection) as cursor,
        tuned_interpreter(),
    ):
        batches = ArchiveReader(cursor, archive, decoder).batches(selection)
        for group in _groups(pool, batches, workers, decoder):
            loaded = committer.commit(group)
            _record(committer.loader, [entry for batch in group for entry in batch.changes])
            if _is_upkeep(group[-1]):
                with transaction(connection):
                    apply_changes(connection, group[-1].changes)
                # A new committer caches no ids of deleted rows.
                committer = _ReplayCommitter(connection, archive, decoder, lost)
            n_ended = _end_segments(connection, group)
            done += IngestSummary(n_ended, loaded.n_dumps, n_events=loaded.n_events)
            del group  # otherwise its columns would stay in memory until the next group
            gc.collect(1)  # objects of this group
            if progress:
                progress(IngestProgress(done.n_files, total, 0, done.n_events))
    return done


class _ReplayCommitter(Committer):
    """Commits dumps that the archive has as ingested: one that cannot be loaded is lost."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        archive: Archive,
        decoder: Decoder,
        lost: list[Refusal] | None,
    ) -> None:
        super().__init__(connection, None, decoder)
        self._archive, self._lost = archive, lost

    def _refuse(self, dump: NewDump, batch: Batch, refusal: Refusal) -> None:
        if self._lost is None:
            raise UnloadableDumpsError(str(self._archive.folder), [describe_lost(refusal)])
        self._lost.append(refusal)
        self._bad[dump.sha256] = refusal


def describe_lost(refusal: Refusal) -> str:
    """A dump of the archive that cannot be loaded, in words."""
    name = f"{refusal.source} ({str(refusal.sha256)[:16]})"
    return f"{name}: {refusal.reason}: {refusal.detail}"


def _groups(
    pool: Executor, batches: Iterator[Batch], workers: int, decoder: Decoder
) -> Iterator[list[Batch]]:
    """Decoded batches to load together; upkeep is applied before later batches are read."""
    for first in batches:
        yield from decoded_groups(pool, _until_upkeep(first, batches), workers, decoder)


def _until_upkeep(first: Batch, more: Iterator[Batch]) -> Iterator[Batch]:
    batch: Batch | None = first
    while batch is not None:
        yield batch
        batch = None if _is_upkeep(batch) else next(more, None)


def _is_upkeep(batch: Batch) -> bool:
    """Whether later batches must wait for its changes."""
    return any(entry.kind in CHANGES for entry in batch.changes)


def _record(loader: Loader, changes: Sequence[Entry]) -> None:
    """Record refusals and settled conflicts, in their order: a settled one may come again."""
    for kind, entries in groupby(changes, attrgetter("kind")):
        if kind == REFUSED:
            loader.record([refusal_of(entry) for entry in entries])
        elif kind == SETTLED:
            loader.settle_conflicts([(entry.name, str(entry.sha256)) for entry in entries])


def _end_segments(connection: duckdb.DuckDBPyConnection, batches: Sequence[Batch]) -> int:
    """Record segments whose entries are all in the store; returns their number."""
    ended = [batch.ended for batch in batches if batch.ended]
    rows = [{"segment": one.number, "entry_count": one.entry_count} for one in ended]
    files = [file for one in ended for file in one.files]
    with transaction(connection):
        ledger = pa.Table.from_pylist(rows, ARCHIVE_SEGMENTS)
        is_new = "WHERE segment NOT IN (SELECT segment FROM archive_segments)"
        insert_rows(connection, "archive_segments", ledger, is_new)
        insert_rows(connection, "archived_files", pa.Table.from_pylist(files, ARCHIVED_FILES))
    return len(ended)


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
