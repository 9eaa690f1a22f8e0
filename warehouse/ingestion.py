"""Files into the store: read and decoded in threads, claimed and committed in order."""

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

from ingest import stream_dump
from ingest.companions import CompanionFinder
from ingest.errors import DumpError
from ingest.manifest import ManifestResolver
from ingest.sources import Source
from warehouse.batches import Batch, Describer, Files, plan_batches
from warehouse.connection import open_cursor
from warehouse.dump_reader import Content, ReadFile, decode_content, merge_contents, read_files
from warehouse.load import Loader
from warehouse.new_dumps import NewDump, Refusal

# Fewer events at a time would leave DuckDB's row groups so empty that it rewrites them when the
# store closes (it looks for four in a row that fit into three), and the file twice as large.
COMMIT_EVENTS = 3 * 122_880
COMMIT_BATCHES = 8  # at most, however few events they have: debug buffers need memory too
STREAM_BYTES = 64 << 20  # from this size on a dump is decoded in parts

_DOUBTS = """
SELECT DISTINCT e.source || ': ' || o.doubt AS doubt
FROM event_origins AS o JOIN etrecords AS e ON e.etrecord_id = o.etrecord_id
WHERE o.doubt IS NOT NULL AND o.etrecord_id IN (SELECT unnest(?))
ORDER BY doubt
"""

_Work = TypeVar("_Work")
_Reading = tuple[list[Files], Future[list[ReadFile]]]
_Claimed = tuple[Batch, Future[Content] | None]
_Decoded = tuple[Batch, Content | None]


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
    summary, n_done = IngestSummary(), 0
    with (
        ThreadPoolExecutor(workers) as pool,
        closing(_Committer(connection, resolver, pool)) as commit,
        ThreadPoolExecutor(1) as claims,
        _one_thread(connection),
    ):
        plans = plan_batches(sources, companions or CompanionFinder())
        read = _ahead((_start_reading(pool, files) for files in plans), workers)
        for group in _prefetch(claims, _groups(_ahead(map(commit.claim, read), workers))):
            summary = commit.commit(group, summary)
            n_done += sum(len(batch.files) for batch, _ in group)
            group.clear()  # or its columns would wait for the next group
            if progress is not None:
                n_bytes, n_events = summary.byte_count, summary.n_events
                progress(IngestProgress(n_done, len(sources), n_bytes, n_events))
        return replace(summary, doubts=commit.doubts(), seconds=time.perf_counter() - start)


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _start_reading(pool: Executor, files: list[Files]) -> _Reading:
    return files, pool.submit(read_files, [one.source for one in files])


def _ahead(started: Iterable[_Work], count: int) -> Iterator[_Work]:
    """What is started, in order, each when `count` more are."""
    waiting: deque[_Work] = deque()
    for work in started:
        waiting.append(work)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


def _prefetch(thread: Executor, items: Iterator[_Work]) -> Iterator[_Work]:
    """The items; the thread gets the next one while one is in use."""
    coming = thread.submit(list[_Work], islice(items, 1))
    while item := coming.result():
        coming = thread.submit(list[_Work], islice(items, 1))
        yield item.pop()


def _groups(claimed: Iterable[_Claimed]) -> Iterator[list[_Decoded]]:
    """Neighbouring batches to commit together; the first alone, and so a dump that is streamed."""
    group: list[_Decoded] = []
    n_events, wanted = 0, 1
    for batch, decoding in claimed:
        content = decoding.result() if decoding else None
        if group and content is None:
            yield group
            group, n_events = [], 0
        group.append((batch, content))
        n_events += content.decoded.tables["events"].num_rows if content else wanted
        if n_events >= wanted or len(group) == COMMIT_BATCHES:
            yield group
            group, n_events, wanted = [], 0, COMMIT_EVENTS
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


class _Committer:
    """The part of an ingest that happens in order: who comes first, and what is committed."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, resolver: ManifestResolver, pool: Executor
    ) -> None:
        self._connection, self._pool = connection, pool
        self._claiming = open_cursor(connection)  # for another thread
        self._loader = Loader(connection)
        self._describer = Describer(resolver)
        self._programs: set[int] = set()  # ids of the ETRecords of this run
        self._manifests: dict[str, str] = {}  # of every dump met in this run, by sha256
        self._bad: dict[str, Refusal] = {}  # dumps of this run that did not decode, by sha256

    def close(self) -> None:
        """Let go of the store."""
        self._claiming.close()

    def claim(self, reading: _Reading) -> _Claimed:
        """Set aside the files whose bytes were met before, and start to decode the others."""
        read = reading[1].result()
        batch = Batch(reading[0], sum(len(file.data) for file in read))
        hashes = [file.sha256 for file in read]
        known = "SELECT sha256, manifest FROM dumps WHERE sha256 IN (SELECT unnest(?))"
        self._manifests.update(self._claiming.execute(known, [hashes]).fetchall())
        buffers = []
        for files, (data, sha256, problem) in zip(batch.files, read, strict=True):
            if sha256 is None:
                batch.refuse(files.source, "unreadable", problem)
                continue
            dump = self._describer.describe(files, sha256, batch)
            if dump is None:
                continue
            if dump.program:
                self._programs.add(dump.program.id)
            if dump.sha256 in self._manifests:
                batch.seen.append(dump)
            else:
                self._manifests[dump.sha256] = dump.manifest.canonical_json()
                batch.dumps.append(dump)
                buffers.append(data)
        if sum(map(len, buffers)) >= STREAM_BYTES:
            batch.big = buffers
            return batch, None
        return batch, self._pool.submit(decode_content, buffers)

    def commit(self, group: Sequence[_Decoded], summary: IngestSummary) -> IngestSummary:
        """Commit batches together; the dumps of one without content are streamed, each alone."""
        n_dumps = n_events = conflicts = 0
        for batch, content in group:
            if content is None:
                n_dumps, n_events = self._commit_streams(batch)
            else:
                self._refuse_malformed(batch, content)
            conflicts += self._judge_seen(batch)
        batches = [batch for batch, _ in group]
        refused = [refusal for batch in batches for refusal in batch.refused]
        dumps = [dump for batch, content in group if content for dump in batch.dumps]
        decoded, statistics = merge_contents([content for _, content in group if content])
        n_dumps += self._loader.load(dumps, decoded, statistics, refused)
        n_events += decoded.tables["events"].num_rows
        seen = [dump for batch in batches for dump in batch.seen]
        self._loader.attach([dump for dump in seen if self._is_known(dump)])
        n_files = sum(len(batch.files) + batch.n_refused_companions for batch in batches)
        return replace(
            summary,
            n_files=summary.n_files + n_files,
            n_dumps=summary.n_dumps + n_dumps,
            n_events=summary.n_events + n_events,
            byte_count=summary.byte_count + sum(batch.byte_count for batch in batches),
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
        for dump, data in zip(batch.dumps, batch.big, strict=True):
            try:
                parts = stream_dump(data, dump.source)
                n_events += self._loader.load_stream(dump, parts)
                n_dumps += 1
            except DumpError as error:
                self._refuse(dump, batch, error.reason, error.byte_offset, error.detail)
        return n_dumps, n_events

    def _refuse_malformed(self, batch: Batch, content: Content) -> None:
        for error in content.decoded.errors.to_pylist():
            self._refuse(batch.dumps[error.pop("dump_index")], batch, **error)

    def _refuse(
        self, dump: NewDump, batch: Batch, reason: str, byte_offset: int | None, detail: str
    ) -> None:
        self._bad[dump.sha256] = Refusal(dump.source, dump.sha256, reason, byte_offset, detail)
        batch.refused.append(self._bad[dump.sha256])

    def _judge_seen(self, batch: Batch) -> int:
        """Refuse the dumps met before that are bad or conflict: how many conflict."""
        conflicts = 0
        for dump in batch.seen:
            if dump.sha256 in self._bad:
                batch.refused.append(self._bad[dump.sha256]._replace(source=dump.source))
            elif self._manifests[dump.sha256] != dump.manifest.canonical_json():
                conflicts += 1
                batch.refused.append(self._conflict(dump))
        return conflicts

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
