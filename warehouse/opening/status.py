"""Status of a store, read without changing it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.history import find_unindexed, read_indexed
from tracehouse.warehouse.catalogue.answers import answer_query
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import reading, translated_errors
from tracehouse.warehouse.engine.failed_checkpoints import read_failures
from tracehouse.warehouse.engine.store_file import FILE_NAME, INBOX_FOLDER, log_of
from tracehouse.warehouse.errors import DamagedStoreError, StoreError, StoreLockedError
from tracehouse.warehouse.opening.doors import OpenedStore, open_readable, store_exists
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.upkeep.compact import is_compaction_wanted
from tracehouse.warehouse.upkeep.verification_record import read_record

if TYPE_CHECKING:
    import pyarrow as pa

_COUNTS, _REFUSALS = "store_counts", "ingest_errors"


class StoreCounts(NamedTuple):
    """Counts in the file or snapshot that was read.

    Attributes:
        events: Profile events in the dumps.
        last_ingest_at: When the last dump was committed; None if there is none.
        archived_files: Files in the archive.
        unarchived_dumps: Dumps that are not in the archive.
        refused: Files that were refused and not ingested later.
    """

    dumps: int
    events: int
    devices: int
    builds: int
    models: int
    last_ingest_at: datetime | None
    archived_files: int
    unarchived_dumps: int
    refused: int


class StoreStatus(NamedTuple):
    """Status of a store.

    Attributes:
        problem: Why the store cannot be read, and the remedy; empty if readable or only locked.
        is_locked: Whether another process writes the store.
        writer_process_id: The id of that process, if known.
        file_bytes: Size of the DuckDB file.
        log_bytes: Size of the write-ahead log.
        archive_bytes: Size of the archive.
        snapshot_bytes: Size of the snapshots; shared blocks count for each of them.
        inbox_bytes: Size of the logs in the inbox.
        total_bytes: Sum of these sizes.
        inbox_files: Number of these logs.
        archive_segments: Number of segments in the archive.
        is_uncompacted: Whether free blocks of the file may hold forgotten dumps.
        unindexed_segments: Segments with entries that are not in the file; None if unknown.
        snapshot_ages_seconds: Ages of the snapshots, newest first.
        failed_checkpoints: Checkpoints that failed, with this version of DuckDB, on a good disk.
        failed_checkpoint_at: When the last one failed; None without any.
        rebuilt_at: When the file was rebuilt because of one; None if it was not.
        disabled_compression: The compression that writers leave out since; empty if they use all.
        verified_at: When a verification last found nothing wrong; None if none did.
        damaged_dumps: Dumps with wrong rows, which were not rebuilt since.
        damaged_tables: Tables with wrong rows that dumps share.
        counted_at: Time of the snapshot with these counts; None for the store's file.
        counts: The counts; None if neither file nor snapshot could be read.
    """

    problem: str = ""
    is_locked: bool = False
    writer_process_id: int | None = None
    file_bytes: int = 0
    log_bytes: int = 0
    archive_bytes: int = 0
    snapshot_bytes: int = 0
    inbox_bytes: int = 0
    total_bytes: int = 0
    inbox_files: int = 0
    archive_segments: int = 0
    is_uncompacted: bool = False
    unindexed_segments: int | None = None
    snapshot_ages_seconds: Sequence[int] = ()
    failed_checkpoints: int = 0
    failed_checkpoint_at: datetime | None = None
    rebuilt_at: datetime | None = None
    disabled_compression: str = ""
    verified_at: datetime | None = None
    damaged_dumps: int = 0
    damaged_tables: int = 0
    counted_at: datetime | None = None
    counts: StoreCounts | None = None


def read_status(store: Path, *, writer: Queryable | None = None) -> StoreStatus:
    """The status of a store; `writer` is the open store, if this process writes it.

    While another process writes it, the counts are those of the newest snapshot.
    """
    counted = _read_counts(store) if writer is None else _query_writer(store, writer)
    file, snapshots = store / FILE_NAME, find_snapshots(store)
    archive, folder = Archive(store), store / INBOX_FOLDER
    segments = archive.segments()  # raises for an unreadable folder, whose size would be 0
    inbox = [*folder.glob("*.log"), *folder.glob("*.sealed")]
    now, failures, verified = time.time(), read_failures(store), read_record(store)
    sizes = (
        _size([file]),
        _size([log_of(file)]),
        _size(archive.folder.rglob("*")),
        _size(snapshot.path for snapshot in snapshots),
        _size(inbox),
    )
    file_bytes, log_bytes, archive_bytes, snapshot_bytes, inbox_bytes = sizes
    return counted._replace(
        file_bytes=file_bytes,
        log_bytes=log_bytes,
        archive_bytes=archive_bytes,
        snapshot_bytes=snapshot_bytes,
        inbox_bytes=inbox_bytes,
        total_bytes=sum(sizes),
        inbox_files=len(inbox),
        archive_segments=len(segments),
        is_uncompacted=is_compaction_wanted(store),
        verified_at=verified.success_time(),
        damaged_dumps=len(verified.dumps),
        damaged_tables=len(verified.tables),
        snapshot_ages_seconds=[
            max(int(now - snapshot.taken_at.timestamp()), 0) for snapshot in reversed(snapshots)
        ],
        failed_checkpoints=failures.failure_count,
        failed_checkpoint_at=failures.failed_at,
        rebuilt_at=failures.rebuilt_at,
        disabled_compression=failures.disabled_compression,
    )


def _read_counts(store: Path) -> StoreStatus:
    try:
        if not store_exists(store):
            raise StoreError(str(store), "no store here; check --store and $TRACEHOUSE_STORE")
        return _count(store, open_readable(store, wait=0.0, is_urgent=True))
    except StoreLockedError as error:
        return StoreStatus(is_locked=True, writer_process_id=error.pid)
    except StoreError as error:
        return StoreStatus(problem=error.problem)


def _query_writer(store: Path, writer: Queryable) -> StoreStatus:
    found = writer.sql(read_statement(_COUNTS), _segments(Archive(store)))
    counts = _counts(found, writer.query(_REFUSALS))
    return StoreStatus(is_locked=True, writer_process_id=os.getpid(), counts=counts)


def _count(store: Path, opened: OpenedStore) -> StoreStatus:
    archive, failure = Archive(store), opened.failure
    try:
        if isinstance(failure, DamagedStoreError):
            raise failure
        connection = opened.answering.connection("trusted")
        with translated_errors(store, opened.answering.file), reading(connection):
            found = connection.sql(read_statement(_COUNTS), params=_segments(archive))
            refusals = answer_query(connection, find_query(_REFUSALS), {})
            counts = _counts(found.to_arrow_table(), refusals)
            unindexed = find_unindexed(archive, read_indexed(connection))
    finally:
        opened.release()
    if opened.snapshot is None:
        return StoreStatus(counts=counts, unindexed_segments=len(unindexed))
    locked = StoreStatus(is_locked=True, writer_process_id=failure.pid if failure else None)
    return locked._replace(counts=counts, counted_at=opened.snapshot.taken_at)


def _segments(archive: Archive) -> dict[str, object]:
    return {"segments": list(archive.numbers())}


def _counts(found: pa.Table, refusals: pa.Table) -> StoreCounts:
    (row,) = found.to_pylist()
    files = {  # one file may have been refused for several reasons
        (refusal["source"], refusal["sha256"])
        for refusal in refusals.select(["source", "sha256", "is_resolved"]).to_pylist()
        if not refusal["is_resolved"]
    }
    return StoreCounts(**row, refused=len(files))


def _size(paths: Iterable[Path]) -> int:
    """Bytes in files; a missing file, such as a merged segment, counts as 0."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
