"""The archive's entries into a store, as they once changed it: to rebuild it, or to catch up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NamedTuple

import duckdb
import pyarrow as pa

from ingest.dump import Refusal
from ingest.schemas.archive import ARCHIVE_SEGMENTS, ARCHIVED_FILES
from warehouse.archive.archive import Archive
from warehouse.archive.entries import REFUSED, SETTLED
from warehouse.archive.segments import Segment
from warehouse.engine.connection import insert_rows, open_cursor, transaction
from warehouse.intake.committer import Committer
from warehouse.intake.decoders import OWN_DECODER
from warehouse.intake.interpreter import few_collections, short_turns
from warehouse.intake.pipeline import CommitGroup, count_cores, decoded_groups
from warehouse.loading.loader import Loader
from warehouse.storage.archived_batches import ArchivedBatch, ArchiveReader
from warehouse.storage.upkeep import do_upkeep


class ReplayProgress(NamedTuple):
    """How far a replay has come: segments done and in all, which are files; dumps and events."""

    done_files: int
    total_files: int
    n_dumps: int
    n_events: int


def replay(
    connection: duckdb.DuckDBPyConnection,
    archive: Archive,
    segments: Sequence[Segment],
    *,
    progress: Callable[[ReplayProgress], None] | None = None,
) -> ReplayProgress:
    """Do in a store what entries of its archive say; what it has already stays as it is.

    Raises:
        ArchiveError: A segment is damaged or gone; what came before it is in the store.
    """
    done = ReplayProgress(0, sum(1 + one.last - one.first for one in segments), 0, 0)
    workers = max(count_cores() - 1, 1)
    committer = Committer(connection, None, OWN_DECODER)
    with (
        ThreadPoolExecutor(workers) as pool,
        open_cursor(connection) as cursor,
        few_collections(),
        short_turns(),
    ):
        batches = ArchiveReader(cursor, archive).batches(segments)
        for group in _groups(pool, batches, workers):
            loaded = committer.commit(*group)
            _change(committer.loader, group.batches)
            if group.batches[-1].is_upkeep:
                with transaction(connection):
                    do_upkeep(connection, group.batches[-1].changes)
                # A new one remembers nothing of what is gone.
                committer = Committer(connection, None, OWN_DECODER)
            done = ReplayProgress(
                done.done_files + _end_segments(connection, group.batches),
                done.total_files,
                done.n_dumps + loaded.n_dumps,
                done.n_events + loaded.n_events,
            )
            del group  # or its columns would wait for the next group
            gc.collect(1)  # what came since the last group
            if progress:
                progress(done)
    return done


def _groups(
    pool: Executor, batches: Iterator[ArchivedBatch], workers: int
) -> Iterator[CommitGroup[ArchivedBatch]]:
    """Decoded batches to load together; none is read before the upkeep that it follows is done."""
    for first in batches:
        yield from decoded_groups(pool, _until_upkeep(first, batches), workers)


def _until_upkeep(first: ArchivedBatch, more: Iterator[ArchivedBatch]) -> Iterator[ArchivedBatch]:
    batch: ArchivedBatch | None = first
    while batch is not None:
        yield batch
        batch = None if batch.is_upkeep else next(more, None)


def _change(loader: Loader, batches: Sequence[ArchivedBatch]) -> None:
    """Do what entries of other kinds than dumps say."""
    loader.attach([dump for batch in batches for dump in batch.attached])
    changes = [entry for batch in batches for entry in batch.changes]
    refused = [entry for entry in changes if entry.kind == REFUSED]
    loader.record(
        [
            Refusal(
                *(one.name, one.sha256, str(one.reason), one.byte_offset, str(one.detail)),
                refused_at=one.recorded_at,
            )
            for one in refused
        ]
    )
    settled = [entry for entry in changes if entry.kind == SETTLED]
    loader.settle([(entry.name, str(entry.sha256)) for entry in settled])


def _end_segments(connection: duckdb.DuckDBPyConnection, batches: Sequence[ArchivedBatch]) -> int:
    """Put segments on record whose entries are all in the store; how many."""
    ended = [batch for batch in batches if batch.segment is not None]
    rows = [{"segment": one.segment, "entry_count": one.entry_count} for one in ended]
    files = [file for batch in ended for file in batch.files]
    with transaction(connection):
        ledger = pa.Table.from_pylist(rows, ARCHIVE_SEGMENTS)
        is_new = "WHERE segment NOT IN (SELECT segment FROM archive_segments)"
        insert_rows(connection, "archive_segments", ledger, is_new)
        insert_rows(connection, "archived_files", pa.Table.from_pylist(files, ARCHIVED_FILES))
    return len(ended)
