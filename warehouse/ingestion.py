"""Files into the store: read and decode in threads, claim and commit in order, batch by batch."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import duckdb
import numpy as np

from ingest import decode_dumps, stream_dump
from ingest.companions import CompanionFinder
from ingest.errors import DumpError
from ingest.manifest import ManifestResolver
from ingest.sources import Source
from warehouse.batches import Batch, BatchReader, plan_batches
from warehouse.dump_rows import NewDump
from warehouse.load import Loader, Refusal

STREAM_BYTES = 64 << 20  # from this size on a dump is decoded in parts

_DOUBTS = """
SELECT DISTINCT e.source || ': ' || o.doubt AS doubt
FROM event_origins AS o JOIN etrecords AS e ON e.etrecord_id = o.etrecord_id
WHERE o.doubt IS NOT NULL AND o.etrecord_id IN (SELECT unnest(?))
ORDER BY doubt
"""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class IngestProgress(NamedTuple):
    """How far an ingest has come: dumps handled, dumps in all, bytes read, events committed."""

    done_files: int
    total_files: int
    done_bytes: int
    n_events: int


@dataclass(frozen=True)
class IngestSummary:
    """What an ingest did.

    Attributes:
        n_files: Files handled: dumps, and what came with them where that was refused.
        n_dumps: Dumps committed.
        n_events: Profile events in them.
        byte_count: Bytes of dumps read, duplicates and refused ones included.
        n_duplicates: Files that were in the store already, manifest and all.
        n_conflicts: Files whose bytes are in the store under another manifest.
        refused: Files that were refused, conflicts included.
        doubts: What ETRecords and the dumps they came with disagree on, as sentences.
        seconds: Wall time taken.
    """

    n_files: int = 0
    n_dumps: int = 0
    n_events: int = 0
    byte_count: int = 0
    n_duplicates: int = 0
    n_conflicts: int = 0
    refused: tuple[Refusal, ...] = ()
    doubts: tuple[str, ...] = ()
    seconds: float = 0.0


def ingest_sources(
    connection: duckdb.DuckDBPyConnection,
    sources: Sequence[Source],
    resolver: ManifestResolver,
    *,
    companions: CompanionFinder | None = None,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest files in order; every batch is committed whole before the next one.

    Args:
        connection: The store's only writer.
        sources: Files to read.
        resolver: Where their manifests come from.
        companions: Where their ETRecords and debug buffers come from; beside them by default.
        jobs: Threads that read and decode; as many as there are cores by default.
        progress: Called after each committed batch.

    Returns:
        What was done. Files that cannot be read or decoded, or lack a manifest, are refused and
        put on record; they stop no other. So is an ETRecord or debug buffer that cannot be read;
        its dumps are taken without it.
    """
    start = time.perf_counter()
    workers = jobs or os.cpu_count() or 1
    summary, n_done = IngestSummary(), 0
    commit = _Committer(connection)
    with ThreadPoolExecutor(workers) as pool:
        reader = BatchReader(resolver)
        read = _in_order(
            pool, reader.read, plan_batches(sources, companions or CompanionFinder()), 1
        )
        for batch in _in_order(pool, _decode, map(commit.claim, read), max(workers - 1, 1)):
            summary = commit.commit(batch, summary)
            n_done += batch.n_sources
            if progress is not None:
                done = n_done, len(sources), summary.byte_count, summary.n_events
                progress(IngestProgress(*done))
    return replace(summary, doubts=commit.doubts(), seconds=time.perf_counter() - start)


def _in_order(
    pool: Executor, function: Callable[[_Item], _Result], items: Iterable[_Item], ahead: int
) -> Iterator[_Result]:
    """Results of the function, computed `ahead` of their use, in the order of the items."""
    pending: deque[Future[_Result]] = deque()
    for item in items:
        pending.append(pool.submit(function, item))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _decode(batch: Batch) -> Batch:
    """Decode the batch, unless it is one big dump, which is decoded while it is committed."""
    if sum(map(len, batch.buffers)) < STREAM_BYTES:
        batch.decoded = decode_dumps(batch.buffers)
        batch.buffers = []
    return batch


class _Committer:
    """The part of an ingest that happens in order: who comes first, and what is committed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._loader = Loader(connection)
        self._programs: set[int] = set()  # ids of the ETRecords of this run
        self._manifests: dict[str, str] = {}  # of every dump met in this run, by sha256
        self._bad: dict[str, Refusal] = {}  # dumps of this run that did not decode, by sha256

    def claim(self, batch: Batch) -> Batch:
        """Set aside the files whose bytes were met before."""
        self._programs |= {dump.program.id for dump in batch.dumps if dump.program}
        hashes = [dump.sha256 for dump in batch.dumps]
        known = "SELECT sha256, manifest FROM dumps WHERE sha256 IN (SELECT unnest(?))"
        self._manifests.update(self._connection.execute(known, [hashes]).fetchall())
        new = np.ones(len(hashes), bool)
        for i, dump in enumerate(batch.dumps):
            if dump.sha256 in self._manifests:
                new[i] = False
                batch.seen.append(dump)
            else:
                self._manifests[dump.sha256] = dump.manifest.canonical_json()
        batch.dumps = [dump for dump, keep in zip(batch.dumps, new, strict=True) if keep]
        batch.buffers = [data for data, keep in zip(batch.buffers, new, strict=True) if keep]
        return batch

    def commit(self, batch: Batch, summary: IngestSummary) -> IngestSummary:
        """Commit a batch and add it to the summary."""
        streamed, n_events = self._commit_streams(batch)
        refused = list(batch.refused)
        for error in batch.decoded.errors.to_pylist():
            dump = batch.dumps[error.pop("dump_index")]
            self._bad[dump.sha256] = Refusal(dump.source, dump.sha256, **error)
            refused.append(self._bad[dump.sha256])
        conflicts = 0
        for dump in batch.seen:
            if dump.sha256 in self._bad:
                refused.append(self._bad[dump.sha256]._replace(source=dump.source))
            elif self._manifests[dump.sha256] != dump.manifest.canonical_json():
                conflicts += 1
                refused.append(self._conflict(dump))
        n_dumps = self._loader.load(batch.dumps, batch.decoded, refused) + streamed
        n_files = batch.n_sources + batch.n_refused_companions
        self._loader.attach([dump for dump in batch.seen if self._is_known(dump)])
        return replace(
            summary,
            n_files=summary.n_files + n_files,
            n_dumps=summary.n_dumps + n_dumps,
            n_events=summary.n_events + batch.decoded.tables["events"].num_rows + n_events,
            byte_count=summary.byte_count + batch.byte_count,
            n_duplicates=summary.n_duplicates + n_files - n_dumps - len(refused),
            n_conflicts=summary.n_conflicts + conflicts,
            refused=summary.refused + tuple(refused),
        )

    def doubts(self) -> tuple[str, ...]:
        """What the ETRecords of this run and their dumps disagree on."""
        if not self._programs:
            return ()
        rows = self._connection.execute(_DOUBTS, [list(self._programs)]).fetchall()
        return tuple(row[0] for row in rows)

    def _commit_streams(self, batch: Batch) -> tuple[int, int]:
        """Commit dumps that were not decoded for their size: dumps and events committed."""
        n_dumps = n_events = 0
        for dump, data in zip(batch.dumps if batch.buffers else [], batch.buffers, strict=True):
            try:
                n_events += self._loader.load_stream(dump, stream_dump(data, dump.source))
                n_dumps += 1
            except DumpError as error:
                fault = error.reason, error.byte_offset, error.detail
                self._bad[dump.sha256] = Refusal(dump.source, dump.sha256, *fault)
                batch.refused.append(self._bad[dump.sha256])
        batch.buffers = []
        return n_dumps, n_events

    def _is_known(self, dump: NewDump) -> bool:
        """Whether the dump is in the store under the same manifest."""
        is_same = self._manifests[dump.sha256] == dump.manifest.canonical_json()
        return is_same and dump.sha256 not in self._bad

    def _conflict(self, dump: NewDump) -> Refusal:
        detail = (
            f"these bytes are known under another manifest, {self._manifests[dump.sha256]}; "
            f"this file says {dump.manifest.canonical_json()}: correct one of them"
        )
        return Refusal(dump.source, dump.sha256, "conflict", None, detail)
