"""Rebuilding a store's DuckDB file from its archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import duckdb

from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DUMP, FORGOTTEN
from tracehouse.warehouse.archive.rewriting import clear_leftovers
from tracehouse.warehouse.archive.segments import Segment, check_segment, read_entries
from tracehouse.warehouse.engine.checksums import Checksum, table_checksums
from tracehouse.warehouse.engine.connection import (
    is_failed_checkpoint,
    merge_log,
    open_reader,
    open_writer,
    translated_errors,
    use_database,
)
from tracehouse.warehouse.engine.failed_checkpoints import (
    FailedCheckpoints,
    give_up_rebuild,
    read_failures,
    record_rebuild,
)
from tracehouse.warehouse.engine.log_sum import sum_of
from tracehouse.warehouse.engine.migrations import migrate, schema_version, supported_schema
from tracehouse.warehouse.engine.store_file import FILE_NAME, log_of, make_file
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.engine.view_rows import checkpoint
from tracehouse.warehouse.errors import (
    ArchiveError,
    DiskError,
    FailedCheckpointError,
    HopelessCheckpointError,
    StoreError,
    UnloadableDumpsError,
    WarehouseError,
)
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.compact import clear_compaction_request
from tracehouse.warehouse.upkeep.forget import erase_forgotten, is_unerased
from tracehouse.warehouse.upkeep.nights import delete_nights
from tracehouse.warehouse.upkeep.replay import Selection, describe_lost, replay
from tracehouse.warehouse.upkeep.verification_record import forget_damages, read_record

Progress = Callable[[IngestProgress], None]

_NO_ARCHIVE = "has no archive to rebuild from: ingest its dumps again"
_UNFILED = """
SELECT count(*) FROM dumps
WHERE sha256 NOT IN (SELECT sha256 FROM archived_files WHERE segment IN (SELECT unnest(?)))
"""


# Dumps that the archive has, and that were not forgotten, without a row.
_MISSING = """
SELECT sha256 FROM archived_files
WHERE kind = 'dump' AND sha256 NOT IN (SELECT sha256 FROM dumps)
    AND sha256 NOT IN (SELECT sha256 FROM forgotten_dumps)
"""
_FORGOTTEN = "SELECT count(*) FROM forgotten_dumps WHERE sha256 IN (SELECT unnest(?))"


class RebuiltTable(NamedTuple):
    """A table before and after; the old count is None if the old file could not be read."""

    name: str
    row_count: int
    old_row_count: int | None
    is_equal: bool | None


class RebuildSummary(NamedTuple):
    """Result of a rebuild.

    Attributes:
        n_dumps: Dumps in the new file.
        tables: Each table, compared with the old one if readable.
        damaged: Paths to which damaged segments of the archive were moved.
        kept: Path of the old file if it was damaged or different; otherwise None.
        problem: Why the old file could not be read; empty if it could.
        lost: Dumps of the archive that cannot be loaded and are left out, in words.
    """

    n_dumps: int
    tables: tuple[RebuiltTable, ...]
    damaged: tuple[Path, ...]
    kept: Path | None
    problem: str
    lost: tuple[str, ...] = ()


class _OldFile(NamedTuple):
    """The readable content of the old file."""

    checksums: dict[str, Checksum]
    n_unfiled: int
    problem: str


def rebuild_store(
    path: Path,
    *,
    is_forced: bool = False,
    wait: float = 0.0,
    progress: Progress | None = None,
) -> RebuildSummary:
    """Rebuild the store's DuckDB file next to the old one, and replace the old one.

    If a checkpoint of the new file fails, it is built again, without the compression that failed.

    Args:
        path: The store's directory.
        is_forced: Rebuild without the dumps that are not in the archive, or cannot be loaded.
        wait: Seconds to wait for other processes that have the store open.
        progress: Called after each commit.

    Raises:
        StoreError: The store has no archive, dumps would be lost, or the disk is full or fails.
        StoreLockedError: Another process has the store open.
        UnloadableDumpsError: The new file would have fewer dumps than the archive.
        HopelessCheckpointError: Checkpoints of the new file fail each time.
    """
    if not Archive(path).segments():  # before a lock is made there
        raise StoreError(str(path), _NO_ARCHIVE)
    lock = StoreLock.for_writing(path, is_shared=False, wait=wait)
    try:
        return _rebuild_repeatedly(path, is_forced=is_forced, progress=progress)
    finally:
        lock.release()


def answer_failed_checkpoint(path: Path, progress: Progress | None = None) -> None:
    """Rebuild a store because a checkpoint failed.

    The caller holds its lock, and has closed its file. If the rebuild is impossible, the next
    writer tries a checkpoint again; after an error of the disk it rebuilds.

    Raises:
        HopelessCheckpointError: Checkpoints fail each time.
        WarehouseError: As by `rebuild_store`.
    """
    failures = read_failures(path)
    try:
        if failures.is_hopeless:
            raise HopelessCheckpointError(*_describe(path, failures))
        _rebuild_repeatedly(path, is_forced=False, progress=progress)
    except WarehouseError as error:
        if not isinstance(error, DiskError):
            give_up_rebuild(path)
        raise


def _rebuild_repeatedly(
    path: Path, *, is_forced: bool, progress: Progress | None
) -> RebuildSummary:
    """Rebuild a store, and again without a compression whose blocks cannot be checkpointed.

    Raises:
        HopelessCheckpointError: Checkpoints fail each time.
    """
    while True:
        before = read_failures(path).failure_count
        try:
            done = _rebuild(path, is_forced=is_forced, progress=progress)
        except FailedCheckpointError as error:
            failures = read_failures(path)
            if failures.is_hopeless or failures.failure_count == before:  # it was not counted
                raise HopelessCheckpointError(*_describe(path, failures)) from error
        else:
            record_rebuild(path)
            return done


def _describe(path: Path, failures: FailedCheckpoints) -> tuple[str, str, str]:
    """The file, the version of DuckDB that cannot write it, and why."""
    return str(path / FILE_NAME), failures.duckdb, failures.problem


def _rebuild(path: Path, *, is_forced: bool, progress: Progress | None) -> RebuildSummary:
    """Rebuild a store once.

    Raises:
        StoreError: As by `rebuild_store`.
        UnloadableDumpsError: The new file would have fewer dumps than the archive.
    """
    archive = Archive(path)
    if not archive.segments():
        raise StoreError(str(path), _NO_ARCHIVE)
    good, damaged = _check_segments(archive)
    clear_leftovers(archive)
    old = _read_old(path, archive)
    if old.n_unfiled and not is_forced:
        raise StoreError(
            str(path),
            f"{old.n_unfiled:,} of its dumps are not in the archive, and would be lost"
            f"{_blame(damaged)}: ingest their files again (they are added to the archive), or "
            "run 'tracehouse store rebuild --force'",
        )
    n_dumps: list[int] = []
    tables: list[RebuiltTable] = []
    kept: list[Path] = []
    lost: list[str] = []

    def build(file: Path) -> None:
        with open_writer(file) as connection:
            use_database(connection)
            migrate(connection)
            refused: list[Refusal] = []
            done = replay(connection, archive, Selection(good), lost=refused, progress=progress)
            n_dumps.append(done.n_dumps)
            found = _find_lost(connection, archive, refused)
            if found and not (is_forced and _can_be_left_out(connection, found)):
                raise UnloadableDumpsError(str(path), [*found.values()])
            lost.extend(found.values())
            if is_unerased(connection):
                erase_forgotten(connection, path)
            if read_record(path).has_damages:
                delete_nights(connection, path)  # they may contain values of wrong rows
            tables.extend(_compare(table_checksums(connection), old.checksums))
            checkpoint(connection)
        is_same = bool(old.checksums) and all(table.is_equal for table in tables)
        kept.extend(_set_aside(path / FILE_NAME, is_kept=not is_same))

    with translated_errors(path):
        is_shared = bool(path.stat().st_mode & 0o077)
        make_file(path, build, is_shared=is_shared)
        clear_compaction_request(path)
        forget_damages(path)
    first = next(iter(kept), None)
    return RebuildSummary(
        n_dumps[0], tuple(tables), tuple(damaged), first, old.problem, tuple(lost)
    )


def _find_lost(
    connection: duckdb.DuckDBPyConnection, archive: Archive, refused: Sequence[Refusal]
) -> dict[str, str]:
    """The dumps of the archive that are not in a rebuilt store: in words, by SHA-256."""
    missing = {row[0] for row in connection.execute(_MISSING).fetchall()}
    known = {str(one.sha256): describe_lost(one) for one in refused}
    wanted, found = known.keys() | missing, dict[str, str]()
    for segment in archive.segments() if wanted else ():
        for _, entry in read_entries(segment, with_data=False):
            sha256 = str(entry.sha256)
            if entry.kind == FORGOTTEN:
                found.pop(sha256, None)
            elif entry.kind == DUMP and sha256 in wanted:
                told = known.get(sha256) or f"{entry.name} ({sha256[:16]}): has no row"
                found[sha256] = f"{told}, in {segment.path.name}"
    return found


def _can_be_left_out(connection: duckdb.DuckDBPyConnection, hashes: Iterable[str]) -> bool:
    """Whether the archive keeps dumps although the store lacks them.

    Without a row, a dump that was forgotten and ingested again would count as forgotten.
    """
    ((count,),) = connection.execute(_FORGOTTEN, [list(hashes)]).fetchall()
    return not count


def _blame(damaged: Sequence[Path]) -> str:
    """Names of damaged segments for a message, if any."""
    if not damaged:
        return ""
    names = ", ".join(path.name for path in damaged)
    return f" (damaged segments were moved to {damaged[0].parent}: {names})"


def _read_old(store: Path, archive: Archive) -> _OldFile:
    """The old file's checksums and unarchived dumps."""
    if not (store / FILE_NAME).exists():
        return _OldFile({}, 0, f"{FILE_NAME} is gone")
    try:
        with open_reader(store / FILE_NAME) as connection:
            use_database(connection)
            version = schema_version(connection)
            ((n_unfiled,),) = connection.execute(_UNFILED, [list(archive.numbers())]).fetchall()
            if version != supported_schema():
                return _OldFile({}, n_unfiled, f"{FILE_NAME} is of schema {version}")
            checksums = table_checksums(connection)
    except duckdb.Error as error:
        return _OldFile({}, 0, str(error).splitlines()[0])
    return _OldFile(checksums, n_unfiled, "")


def _check_segments(archive: Archive) -> tuple[list[Segment], list[Path]]:
    """Intact segments, and paths to which damaged ones were moved.

    Raises:
        ArchiveError: A segment cannot be read, although it may be intact.
    """
    good, damaged = [], []
    for segment in archive.segments():
        try:
            check_segment(segment)
            good.append(segment)
        except ArchiveError as error:
            if isinstance(error.__cause__, OSError):
                raise
            damaged.append(archive.set_aside(segment))
    return good, damaged


def _compare(new: dict[str, Checksum], old: dict[str, Checksum]) -> list[RebuiltTable]:
    return [
        RebuiltTable(
            name,
            found.row_count,
            old[name].row_count if name in old else None,
            found == old[name] if name in old else None,
        )
        for name, found in new.items()
    ]


def _can_merge_log(file: Path) -> bool:
    """Whether the log is in the file now; not if a checkpoint of that file fails.

    Raises:
        duckdb.Error: The log or the file cannot be read or written.
    """
    try:
        merge_log(file)
    except duckdb.Error as error:
        if is_failed_checkpoint(error):
            return False
        raise
    return True


def _set_aside(file: Path, *, is_kept: bool) -> list[Path]:
    """Remove the old file and its log, or rename them if they are to be kept.

    A kill at any moment never leaves the file in its place without its log.
    """
    if not is_kept and _can_merge_log(file):
        return []
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    kept = []
    for old in (file, log_of(file), sum_of(file)):
        if old.exists():
            kept.append(old.rename(old.with_name(f"{old.name}.old-{stamp}")))
    return kept
