"""The archive's entries into a store, as they once changed it: to rebuild it, or to catch up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import duckdb
import pyarrow as pa

from ingest.dump import Refusal
from ingest.schemas.archive import ARCHIVE_SEGMENTS, ARCHIVED_FILES
from warehouse.archive.archive import Archive
from warehouse.archive.entries import AMENDED, DECIDED, DROPPED, FORGOTTEN, REFUSED, SETTLED, Entry
from warehouse.archive.segments import Segment
from warehouse.engine.connection import insert_rows, open_cursor, transaction
from warehouse.load.committer import Committer
from warehouse.load.decoders import OWN_DECODER
from warehouse.load.interpreter import gc_paused, short_switch_interval
from warehouse.load.loader import Loader
from warehouse.load.pipeline import CommitGroup, count_cores, decoded_groups
from warehouse.upkeep.amend import amend_dumps
from warehouse.upkeep.archived_batches import ArchivedBatch, ArchiveReader
from warehouse.upkeep.decide import store_decisions
from warehouse.upkeep.forget import delete_dumps
from warehouse.upkeep.retain import drop_events

# What each kind of entry does to a store; done again, it changes nothing.
_APPLY = {
    AMENDED: amend_dumps,
    DROPPED: drop_events,
    FORGOTTEN: delete_dumps,
    DECIDED: store_decisions,
}


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
        gc_paused(),
        short_switch_interval(),
    ):
        batches = ArchiveReader(cursor, archive).batches(segments)
        for group in _groups(pool, batches, workers):
            loaded = committer.commit(*group)
            _change(committer.loader, group.batches)
            if group.batches[-1].is_upkeep:
                with transaction(connection):
                    _apply(connection, group.batches[-1].changes)
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


def _apply(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    for kind, some in groupby(entries, attrgetter("kind")):
        if kind in _APPLY:
            _APPLY[kind](connection, list(some))


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
