"""Moves dumps from the inbox into the store; each log is deleted once its dumps are committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Companion, Dump
from tracehouse.ingest.durable import sync_path
from tracehouse.ingest.errors import SourceError
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.store_file import INBOX_FOLDER
from tracehouse.warehouse.errors import write_errors
from tracehouse.warehouse.inbox.log import SealedLog, seal_logs
from tracehouse.warehouse.inbox.records import Damage, LoggedFile, LogRecord, Scan, delete_log
from tracehouse.warehouse.load.children import ChildDecoder, DecodingChildren, Place
from tracehouse.warehouse.load.loader import parse_manifest
from tracehouse.warehouse.load.pipeline import ingest_dumps
from tracehouse.warehouse.load.stored_dumps import StoredDumps
from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary

DAMAGED = "damaged"  # reason of refusals, and folder of the damaged bytes

_COPIED_BYTES = 1 << 20  # at a time

_ROUND_BYTES = 1 << 30  # size of logs scanned together; memory holds where each dump is
_ROUND_LOGS = 256  # scanned together, as each is an open file


class LoggedDumps:
    """The dumps in logs, read one by one, and the damaged records at the end.

    The scan of a log is awaited after the dumps of earlier logs.

    Attributes:
        notes: Sentences about incomplete records, complete after the last dump.
        places: Where files of the dumps so far stand: by SHA-256.
    """

    def __init__(self, logs: Sequence[tuple[SealedLog, Future[Scan]]]) -> None:
        self._logs = logs
        # Logs, each with the number of dumps up to its end.
        self._made: deque[tuple[int, SealedLog]] = deque()
        self.notes: list[str] = []
        self.places: dict[str, Place] = {}

    def __len__(self) -> int:
        known = (scan for _, scan in self._logs if scan.done() and not scan.exception())
        scans = [scan.result() for scan in known]
        n_damaged = sum(not damage.is_torn for scan in scans for damage in scan.damages)
        return sum(len(scan.offsets) for scan in scans) + n_damaged

    def __iter__(self) -> Iterator[Dump]:
        """The dumps in order; damaged bytes are copied before the first damaged record."""
        count = 0
        for log, scan in self._logs:
            offsets, damages = scan.result()
            for offset in offsets:
                yield self._incoming(log, log.record(offset))
            count += len(offsets)
            if not damages:  # damaged logs are read again after the last log
                self._made.append((count, log))
        yield from map(Dump.unreadable, list(self._keep_damaged()))

    def finished(self, count: int) -> Iterator[SealedLog]:
        """Undamaged logs whose dumps are all among the first `count`, each yielded once."""
        while self._made and self._made[0][0] <= count:
            yield self._made.popleft()[1]

    def _keep_damaged(self) -> Iterator[SourceError]:
        for log, scan in self._logs:
            for damage in scan.result().damages:
                where = f"{log.path}: offset {damage.offset:,}"
                what = damage.problem
                if damage.byte_count:
                    kept = _keep(log, damage)
                    what += f": these {damage.byte_count:,} bytes are kept as {kept}"
                if damage.is_torn:
                    remedy = "they were not acknowledged, unless the file was truncated"
                    self.notes.append(f"{where}: {what}; {remedy}")
                else:
                    problem = f"{what}; submit its dumps again"
                    yield SourceError(where, problem, reason=DAMAGED)

    def _incoming(self, log: SealedLog, record: LogRecord) -> Dump:
        for part in filter(None, record[1:4]):
            self.places[part.sha256] = log.path, part.offset, part.byte_count
        return Dump(
            record.dump.name,
            partial(log.read, record.dump),
            lambda: parse_manifest(record.manifest),
            record.dump.byte_count,
            _companion(log, record.etrecord),
            _companion(log, record.debug_buffer),
            record.dump.sha256,  # verified by the scan
        )


def _companion(log: SealedLog, part: LoggedFile | None) -> Companion | None:
    if part is None:
        return None
    return Companion(part.name, partial(log.read, part), part.byte_count, part.sha256)


def _keep(log: SealedLog, damage: Damage) -> Path:
    """Copy damaged bytes of a log to a file, synced to disk; returns its path."""
    folder = log.path.parent / DAMAGED
    folder.mkdir(exist_ok=True)
    copy = folder / f"{log.path.stem}-{damage.offset}{'.torn' if damage.is_torn else '.bytes'}"
    position, end = damage.offset, damage.offset + damage.byte_count
    with open(copy, "wb") as file:
        while chunk := log.pread(position, min(_COPIED_BYTES, end - position)):
            file.write(chunk)
            position += len(chunk)
    sync_path(copy)
    sync_path(folder)
    return copy


def drain_inbox(
    stored: StoredDumps,
    store: Path,
    children: DecodingChildren,
    *,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest the dumps in the inbox; a log is deleted as soon as all its dumps are committed.

    If a drain is interrupted, the next one continues; dumps that are already in the store have no
    effect.

    Args:
        stored: The dumps of the store, to which the new ones are added.
        store: The store's directory.
        children: Processes that decode, so that no dump can crash this one.
        jobs: Threads that read and decode; see `ingest_dumps`.
        progress: Called after each commit; the total grows as logs are scanned.

    Returns:
        The summary, without seconds. Damaged records are refused like unreadable dumps;
        their bytes are kept in the inbox.

    Raises:
        StoreError: The disk is full, or the inbox cannot be read or written.
    """
    summary = IngestSummary()
    archive, folder = Archive(store), store / INBOX_FOLDER
    with write_errors(
        str(folder), problem="cannot be read or written", kept="the dumps in it are safe"
    ):
        logs = seal_logs(folder)
        for paths in batches(logs, lambda log: log.stat().st_size, _ROUND_BYTES, _ROUND_LOGS):
            children.prepare()
            report = _after(summary, progress)
            summary += _drain_logs(stored, archive, paths, children, jobs, report)
    return summary


def _after(
    before: IngestSummary, progress: Callable[[IngestProgress], None] | None
) -> Callable[[IngestProgress], None]:
    """A function that adds earlier rounds to a round's progress and reports the sum."""

    def report(done: IngestProgress) -> None:
        if progress:
            counts = before.n_files, before.n_files, before.byte_count, before.n_events
            files, total, byte_count, events = map(sum, zip(counts, done[:4], strict=True))
            progress(IngestProgress(files, total, byte_count, events, done.coming))

    return report


def _drain_logs(
    stored: StoredDumps,
    archive: Archive,
    paths: Sequence[Path],
    children: DecodingChildren,
    jobs: int | None,
    progress: Callable[[IngestProgress], None],
) -> IngestSummary:
    left = dict.fromkeys(log for log in map(SealedLog.open, paths) if log)
    scanner = ThreadPoolExecutor(1, "scanner")

    def clear(logs: Sequence[SealedLog]) -> None:
        assert left.keys() >= set(logs), "a log is deleted once"
        for log in logs:
            delete_log(log.path)
            log.close()
            del left[log]
        if logs:
            sync_path(logs[0].path.parent)

    def report(done: IngestProgress) -> None:
        progress(done)  # raises an error if the store is gone
        clear(
            list(content.finished(done.done_files))
        )  # immediately, to free the memory of the logs

    try:
        content = LoggedDumps([(log, scanner.submit(log.scan)) for log in left])
        summary = ingest_dumps(
            stored,
            content,
            archive=archive,
            decoder=ChildDecoder(children, content.places),
            jobs=jobs,
            progress=report,
        )
        clear(list(left))
    finally:
        scanner.shutdown(cancel_futures=True)
        for log in left:
            log.close()
    return replace(summary, notes=tuple(content.notes))
