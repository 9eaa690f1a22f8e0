"""Files into the store: read and decoded in threads, claimed and committed in order.

What waits between these steps is bounded in number and bytes, whatever the files are.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, TypeVar

import duckdb

from ingest.manifest.resolver import ManifestResolver
from ingest.sources.companions import CompanionFinder
from ingest.sources.paths import Source
from warehouse.engine.connection import open_cursor
from warehouse.intake.batches import Batch, Describer, Plan, plan_batches
from warehouse.intake.committer import CONFLICT, Committed, Committer, Decoded, Met
from warehouse.intake.content import Content, ReadFile, decode_apart, read_files
from warehouse.loading.records import Refusal

# Fewer events at a time would leave DuckDB's row groups so empty that it rewrites them when the
# store closes (it looks for four in a row that fit into three), and the file twice as large.
COMMIT_EVENTS = 3 * 122_880
COMMIT_BATCHES = 8  # at most, however few events they have: debug buffers need memory too
COMMIT_BYTES = 64 << 20  # of dumps and their debug buffers, likewise
AHEAD_BYTES = (
    16 << 20
)  # of dumps that are read, and as many decoded, before they are used: a thread
STREAM_BYTES = 64 << 20  # from this size on a dump is decoded in parts

_DOUBTS = """
SELECT DISTINCT e.source || ': ' || o.doubt AS doubt
FROM event_origins AS o JOIN etrecords AS e ON e.etrecord_id = o.etrecord_id
WHERE o.doubt IS NOT NULL AND o.etrecord_id IN (SELECT unnest(?))
ORDER BY doubt
"""

_Reading = tuple[Plan, Future[list[ReadFile]]]
_Claimed = tuple[Batch, Future[Content] | None]
_Work = TypeVar("_Work", _Reading, _Claimed)
_Item = TypeVar("_Item")


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
        jobs: Threads that read and decode, besides the one that commits; by default as many as
            there are cores for.
        progress: Called after each committed batch.

    Returns:
        What was done. Files that cannot be read or decoded, or lack a manifest, are refused and
        put on record; they stop no other. So is an ETRecord or debug buffer that cannot be read;
        its dumps are taken without it.
    """
    start = time.perf_counter()
    workers = jobs or max(count_cores() - 1, 1)
    summary, n_done, met = IngestSummary(), 0, Met()
    with (
        ThreadPoolExecutor(workers) as pool,
        closing(_Claims(connection, resolver, met, pool)) as claims,
        ThreadPoolExecutor(1) as thread,
        _one_thread(connection),
    ):
        committer = Committer(connection, met)
        plans = plan_batches(sources, companions or CompanionFinder())
        read = _ahead((_start_reading(pool, plan) for plan in plans), workers)
        for group in _prefetch(thread, _groups(_ahead(map(claims.claim, read), workers))):
            summary = _add(summary, committer.commit(group))
            n_done += sum(len(batch.files) for batch, _ in group)
            group.clear()  # or its columns would wait for the next group
            if progress is not None:
                n_bytes, n_events = summary.byte_count, summary.n_events
                progress(IngestProgress(n_done, len(sources), n_bytes, n_events))
        doubts = claims.doubts(connection)
        return replace(summary, doubts=doubts, seconds=time.perf_counter() - start)


def _add(summary: IngestSummary, done: Committed) -> IngestSummary:
    n_conflicts = sum(refusal.reason == CONFLICT for refusal in done.refused)
    return replace(
        summary,
        n_files=summary.n_files + done.n_files,
        n_dumps=summary.n_dumps + done.n_dumps,
        n_events=summary.n_events + done.n_events,
        byte_count=summary.byte_count + done.byte_count,
        n_duplicates=summary.n_duplicates + done.n_files - done.n_dumps - len(done.refused),
        n_conflicts=summary.n_conflicts + n_conflicts,
        refused=summary.refused + tuple(done.refused),
    )


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _start_reading(pool: Executor, plan: Plan) -> _Reading:
    return plan, pool.submit(read_files, [one.source for one in plan.files])


def _ahead(started: Iterable[_Work], count: int) -> Iterator[_Work]:
    """What is started, in order, each when `count` more are, or they take too many bytes."""
    waiting: deque[_Work] = deque()
    n_bytes = 0
    for work in started:
        waiting.append(work)
        n_bytes += work[0].byte_count
        while len(waiting) > count or n_bytes > count * AHEAD_BYTES:
            n_bytes -= waiting[0][0].byte_count
            yield waiting.popleft()
    yield from waiting


def _prefetch(thread: Executor, items: Iterator[_Item]) -> Iterator[_Item]:
    """The items; the thread gets the next one while one is in use."""
    coming = thread.submit(list[_Item], islice(items, 1))
    while item := coming.result():
        coming = thread.submit(list[_Item], islice(items, 1))
        yield item.pop()


def _groups(claimed: Iterable[_Claimed]) -> Iterator[list[Decoded]]:
    """Neighbouring batches to commit together; the first alone, and so a dump that is streamed."""
    group: list[Decoded] = []
    n_events, n_bytes, wanted = 0, 0, 1
    for batch, decoding in claimed:
        content = decoding.result() if decoding else None
        if group and content is None:
            yield group
            group, n_events, n_bytes = [], 0, 0
        group.append((batch, content))
        n_events += content.decoded.tables["events"].num_rows if content else wanted
        n_bytes += batch.held_bytes
        if n_events >= wanted or n_bytes >= COMMIT_BYTES or len(group) == COMMIT_BATCHES:
            yield group
            group, n_events, n_bytes, wanted = [], 0, 0, COMMIT_EVENTS
    if group:
        yield group


@contextmanager
def _one_thread(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let DuckDB insert in one thread: several would leave row groups half full."""
    connection.execute("SET threads = 1")
    try:
        yield
    finally:
        connection.execute("RESET threads")


class _Claims:
    """Who comes first: dumps are told from those met before, in order."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        resolver: ManifestResolver,
        met: Met,
        pool: Executor,
    ) -> None:
        self._connection = open_cursor(connection)  # for another thread
        self._describer = Describer(resolver)
        self._met, self._pool = met, pool
        self._programs: set[int] = set()  # ids of the ETRecords of this run

    def close(self) -> None:
        """Let go of the store."""
        self._connection.close()

    def claim(self, reading: _Reading) -> _Claimed:
        """Set aside the files whose bytes were met before, and start to decode the others."""
        read = reading[1].result()
        batch = Batch(reading[0].files, sum(len(file.data) for file in read))
        self._meet_stored([file.sha256 for file in read])
        for files, file in zip(batch.files, read, strict=True):
            if file.sha256 is None:
                batch.refuse(files.source, file.reason, file.problem)
                continue
            dump = self._describer.describe(files, file.sha256, batch)
            if dump is None:
                continue
            if dump.program:
                self._programs.add(dump.program.id)
            if dump.sha256 in self._met.manifests:
                batch.seen.append(dump)
            else:
                self._met.manifests[dump.sha256] = dump.manifest.canonical_json()
                batch.dumps.append(dump)
                batch.buffers.append(file.data)
        if sum(map(len, batch.buffers)) >= STREAM_BYTES:
            return batch, None
        return batch, self._pool.submit(decode_apart, batch.buffers)

    def doubts(self, connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
        """What the ETRecords of this run and their dumps disagree on."""
        if not self._programs:
            return ()
        rows = connection.execute(_DOUBTS, [list(self._programs)]).fetchall()
        return tuple(row[0] for row in rows)

    def _meet_stored(self, hashes: Sequence[str | None]) -> None:
        """Take note of the manifests of dumps that the store has."""
        known = "SELECT sha256, manifest FROM dumps WHERE sha256 IN (SELECT unnest(?))"
        for sha256, manifest in self._connection.execute(known, [hashes]).fetchall():
            self._met.manifests[sha256] = sys.intern(manifest)  # many dumps have the same
