"""Replaying archive entries into a store, to rebuild it or to catch up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import groupby
from operator import attrgetter

import duckdb
import pyarrow as pa

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.schemas.archive import ARCHIVE_SEGMENTS, ARCHIVED_FILES
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import REFUSED, SETTLED, Entry
from tracehouse.warehouse.engine.connection import insert_rows, open_cursor, transaction
from tracehouse.warehouse.errors import UnloadableDumpsError
from tracehouse.warehouse.load.batches import Batch
from tracehouse.warehouse.load.committer import Committer
from tracehouse.warehouse.load.decoders import OWN_DECODER, Decoder
from tracehouse.warehouse.load.entries import refusal_of
from tracehouse.warehouse.load.interpreter import tuned_interpreter
from tracehouse.warehouse.load.loader import Loader
from tracehouse.warehouse.load.new_dump import NewDump
from tracehouse.warehouse.load.pipeline import count_cores, decoded_groups
from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary
from tracehouse.warehouse.upkeep.archived_batches import ArchiveReader, Selection
from tracehouse.warehouse.upkeep.changes import CHANGES, apply_changes


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
