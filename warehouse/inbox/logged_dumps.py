"""Dumps in sealed logs, read while later logs are still being scanned; and damaged records."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from tracehouse.ingest.dump import Companion, Dump
from tracehouse.ingest.durable import sync_path
from tracehouse.ingest.errors import SourceError
from tracehouse.warehouse.inbox.log import SealedLog
from tracehouse.warehouse.inbox.records import Damage, LoggedFile, LogRecord, Scan
from tracehouse.warehouse.load.children import Place
from tracehouse.warehouse.load.entries import parse_manifest

DAMAGED = "damaged"  # reason of refusals, and folder of the damaged bytes

_COPIED_BYTES = 1 << 20  # at a time


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
