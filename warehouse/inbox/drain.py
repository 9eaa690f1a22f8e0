"""What was handed over to the inbox, into the store: it leaves the log when it is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb

from ingest.batching import batches
from ingest.durable import sync_path
from warehouse.archive.archive import Archive
from warehouse.engine.failpoints import failpoint
from warehouse.engine.store_file import INBOX_FOLDER
from warehouse.errors import StoreError
from warehouse.inbox.log import SealedLog, seal_logs
from warehouse.inbox.logged_dumps import DAMAGED, LoggedDumps
from warehouse.inbox.tallies import delete_log
from warehouse.load.children import ChildDecoder, DecodingChildren
from warehouse.load.pipeline import IngestProgress, IngestSummary, ingest_dumps

_ROUND_BYTES = 1 << 30  # of logs that are looked through ahead: it is known where each dump stands
_ROUND_LOGS = 256  # likewise, for each is a file that is open


def drain_inbox(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    children: DecodingChildren,
    *,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest what the inbox holds by now; a log is deleted as soon as all of it is committed.

    Where it is broken off, the next one goes on: what is in the store already changes nothing.

    Args:
        connection: The store's only writer.
        store: The store's directory.
        children: What decodes: what breaks it is not to break this process.
        jobs: Threads that read and decode; see `ingest_dumps`.
        progress: Called after each committed batch; the total grows as logs are looked through.

    Returns:
        What was done, without seconds. A damaged record is refused and put on record like a dump
        that cannot be read; its bytes are kept in the inbox.

    Raises:
        StoreError: The disk is full, or the inbox cannot be read or written.
    """
    summary = IngestSummary()
    archive, folder = Archive(store), store / INBOX_FOLDER
    try:
        logs = seal_logs(folder)
        for paths in batches(logs, _size, _ROUND_BYTES, _ROUND_LOGS):
            children.prepare()
            report = _after(summary, progress)
            summary += _drain_logs(connection, archive, paths, children, jobs, report)
    except OSError as error:
        raise StoreError(
            str(folder),
            f"cannot be read or written: {error.strerror}; what is left in it is safe: "
            "run 'tracehouse drain' again when that is mended",
        ) from error
    return summary


def _size(path: Path) -> int:
    return path.stat().st_size


def _after(
    before: IngestSummary, progress: Callable[[IngestProgress], None] | None
) -> Callable[[IngestProgress], None]:
    """What to call with a round's progress, to which that of the rounds before is added."""

    def report(done: IngestProgress) -> None:
        if progress:
            counts = before.n_files, before.n_files, before.byte_count, before.n_events
            files, total, byte_count, events = map(sum, zip(counts, done[:4], strict=True))
            progress(IngestProgress(files, total, byte_count, events, done.coming))

    return report


def _drain_logs(
    connection: duckdb.DuckDBPyConnection,
    archive: Archive,
    paths: Sequence[Path],
    children: DecodingChildren,
    jobs: int | None,
    progress: Callable[[IngestProgress], None],
) -> IngestSummary:
    left = dict.fromkeys(log for log in map(SealedLog.open, paths) if log)
    proving = ThreadPoolExecutor(1, "proving")

    def clear(logs: Sequence[SealedLog]) -> None:
        for log in logs:
            failpoint("log clear")
            _clear(log.path, is_kept=not content.is_read(log))
            log.close()
            del left[log]
        if logs:
            sync_path(logs[0].path.parent)

    def go_on(done: IngestProgress) -> None:
        progress(done)  # which fails where the store is not there any more
        clear(list(content.finished(done.done_files)))  # at once: what comes in takes its memory

    try:
        content = LoggedDumps([(log, proving.submit(log.scan)) for log in left])
        failpoint("claim")
        summary = ingest_dumps(
            connection,
            content,
            archive=archive,
            decoder=ChildDecoder(children, content.places),
            jobs=jobs,
            progress=go_on,
        )
        clear(list(left))
    finally:
        proving.shutdown(cancel_futures=True)
        for log in left:
            log.close()
    return replace(summary, notes=tuple(content.notes))


def _clear(path: Path, *, is_kept: bool) -> None:
    """Delete a log; if some dump of it could not be read, keep it where it is not read again."""
    if is_kept:
        folder = path.parent / DAMAGED
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
    delete_log(path)
