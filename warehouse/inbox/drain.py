"""Moves dumps from the inbox into the store; each log is deleted once its dumps are committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tracehouse.ingest.batching import batches
from tracehouse.ingest.durable import sync_path
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.failpoints import failpoint
from tracehouse.warehouse.engine.store_file import INBOX_FOLDER
from tracehouse.warehouse.errors import write_errors
from tracehouse.warehouse.inbox.log import SealedLog, seal_logs
from tracehouse.warehouse.inbox.logged_dumps import LoggedDumps
from tracehouse.warehouse.inbox.tallies import delete_log
from tracehouse.warehouse.load.children import ChildDecoder, DecodingChildren
from tracehouse.warehouse.load.pipeline import ingest_dumps
from tracehouse.warehouse.load.stored_dumps import StoredDumps
from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary

_ROUND_BYTES = 1 << 30  # of logs that are scanned together, as the place of each dump is in memory
_ROUND_LOGS = 256  # scanned together, as each is an open file


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
        for log in logs:
            failpoint("log clear")
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
        failpoint("claim")
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
