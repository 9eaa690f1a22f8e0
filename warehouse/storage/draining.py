"""What was handed over to the inbox, into the store: it leaves the log when it is committed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from ingest.errors import SourceError
from ingest.incoming import Bytes, Incoming, IncomingFile, unreadable
from warehouse.archive.archive import Archive
from warehouse.archive.segments import sync_and_hash
from warehouse.engine.failpoints import failpoint
from warehouse.engine.store_file import INBOX_FOLDER, sync_path
from warehouse.errors import StoreError
from warehouse.intake.children import ChildDecoder, DecodingChildren, FilePart
from warehouse.intake.pipeline import IngestProgress, IngestSummary, ingest_dumps
from warehouse.loading.history_entries import parse_manifest
from warehouse.storage.intake_log import SealedLog, seal_logs
from warehouse.storage.log_records import Damage, LoggedFile, LogRecord

DAMAGED = "damaged"  # why dumps were refused; and the folder of what is left of them

_ROUND_BYTES = 256 << 20  # of logs that are ingested, and then deleted, together
_COPIED_BYTES = 1 << 20  # at a time


def drain_inbox(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    children: DecodingChildren,
    *,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest what the inbox holds by now; a log is deleted when all of it is committed.

    Where it is broken off, the next one goes on: what is in the store already changes nothing.

    Args:
        connection: The store's only writer.
        store: The store's directory.
        children: What decodes: what breaks it is not to break this process.
        jobs: Threads that read and decode; see `ingest_dumps`.
        progress: Called after each committed batch; the total grows from round to round.

    Returns:
        What was done, without seconds. A damaged record is refused and put on record like a dump
        that cannot be read; its bytes are kept in the inbox.

    Raises:
        StoreError: The disk is full, or the inbox cannot be read or written.
    """
    summary = IngestSummary()
    archive, folder = Archive(store), store / INBOX_FOLDER
    try:
        for paths in _rounds(seal_logs(folder)):
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


def _rounds(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Logs that are ingested together."""
    planned: list[Path] = []
    size = 0
    for path in paths:
        planned.append(path)
        size += path.stat().st_size
        if size >= _ROUND_BYTES:
            yield planned
            planned, size = [], 0
    if planned:
        yield planned


def _after(
    before: IngestSummary, progress: Callable[[IngestProgress], None] | None
) -> Callable[[IngestProgress], None]:
    """What to call with a round's progress, to which that of the rounds before is added."""

    def report(done: IngestProgress) -> None:
        if progress:
            counts = before.n_files, before.n_files, before.byte_count, before.n_events
            progress(IngestProgress(*map(sum, zip(counts, done, strict=True))))

    return report


def _drain_logs(
    connection: duckdb.DuckDBPyConnection,
    archive: Archive,
    paths: Sequence[Path],
    children: DecodingChildren,
    jobs: int | None,
    progress: Callable[[IngestProgress], None],
) -> IngestSummary:
    logs = [log for log in map(SealedLog.open, paths) if log]
    try:
        content = _read_logs(logs)
        failpoint("claim")
        summary = ingest_dumps(
            connection,
            content,
            archive=archive,
            decoder=ChildDecoder(children, content.places),
            jobs=jobs,
            progress=progress,
        )
        is_unread = any(not (one.sha256 or one.reason == DAMAGED) for one in summary.refused)
        for log in logs:
            failpoint("log clear")
            _clear(log.path, is_kept=is_unread)
    finally:
        for log in logs:
            log.close()
    return replace(summary, notes=content.notes)


def _clear(path: Path, *, is_kept: bool) -> None:
    """Delete a log; if some dump of it could not be read, keep it where it is not read again."""
    if is_kept:
        folder = path.parent / DAMAGED
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
    else:
        path.unlink()
    sync_path(path.parent)


@dataclass(frozen=True)
class _LoggedDumps:
    """The dumps in logs, each made when its turn comes; then the damaged ones.

    Attributes:
        logs: Logs, and the offsets of the records in each.
        damaged: What is wrong with what is no record.
        notes: What was torn off, as sentences.
        places: Where files of the dumps made so far stand, by SHA-256; ETRecords as they are.
    """

    logs: list[tuple[SealedLog, list[int]]]
    damaged: list[SourceError]
    notes: tuple[str, ...]
    places: dict[Hashable, FilePart] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(offsets) for _, offsets in self.logs) + len(self.damaged)

    def __iter__(self) -> Iterator[Incoming]:
        for log, offsets in self.logs:
            for offset in offsets:
                yield self._incoming(log, log.record(offset))
        yield from map(unreadable, self.damaged)

    def _incoming(self, log: SealedLog, record: LogRecord) -> Incoming:
        etrecord = _companion(log, record.etrecord)
        for part in filter(None, record[1:4]):
            self.places[part.sha256] = FilePart(log.path, part.offset, part.byte_count)
        if record.etrecord:
            self.places[etrecord] = self.places[record.etrecord.sha256]
        return Incoming(
            record.dump.name,
            _LoggedBytes(record.dump.sha256, log, record.dump),
            lambda: parse_manifest(record.manifest),
            record.dump.byte_count,
            etrecord,
            _companion(log, record.debug_buffer),
            record.dump.sha256,  # which the scan proved
        )


def _read_logs(logs: Sequence[SealedLog]) -> _LoggedDumps:
    """What logs hold; what is no record is copied to where it stays."""
    scanned = [(log, log.scan()) for log in logs]
    damaged: list[SourceError] = []
    notes: list[str] = []
    for log, damage in ((log, damage) for log, scan in scanned for damage in scan.damages):
        where = f"{log.path}: offset {damage.offset:,}"
        what = (
            f"{damage.problem}: these {damage.byte_count:,} bytes are kept as {_keep(log, damage)}"
        )
        if damage.is_torn:
            remedy = "they were not acknowledged, unless the file was cut"
            notes.append(f"{where}: {what}; {remedy}")
        else:
            problem = f"{what}; hand over again what was in it"
            damaged.append(SourceError(where, problem, reason=DAMAGED))
    return _LoggedDumps([(log, scan.offsets) for log, scan in scanned], damaged, tuple(notes))


@dataclass(frozen=True)
class _LoggedBytes:
    """Gives the bytes of a file in a log; equal to another of the same bytes."""

    sha256: str
    log: SealedLog = field(compare=False)
    part: LoggedFile = field(compare=False)

    def __call__(self) -> Bytes:
        return self.log.read(self.part)


def _companion(log: SealedLog, part: LoggedFile | None) -> IncomingFile | None:
    if part is None:
        return None
    return IncomingFile(part.name, _LoggedBytes(part.sha256, log, part), part.byte_count)


def _keep(log: SealedLog, damage: Damage) -> Path:
    """Copy damaged bytes of a log to a file, which is on disk; where that is."""
    folder = log.path.parent / DAMAGED
    folder.mkdir(exist_ok=True)
    copy = folder / f"{log.path.stem}-{damage.offset}{'.torn' if damage.is_torn else '.bytes'}"
    position, end = damage.offset, damage.offset + damage.byte_count
    with open(copy, "wb") as file:
        while chunk := log.pread(position, min(_COPIED_BYTES, end - position)):
            file.write(chunk)
            position += len(chunk)
    sync_and_hash(copy)
    sync_path(folder)
    return copy
