"""Ingest pipeline: dumps are read and decoded in threads, deduplicated, and committed in order.

The number and bytes of dumps that wait between these steps are limited.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

import duckdb

from ingest.dump import Dump
from warehouse.archive.archive import Archive
from warehouse.engine.long_values import LongValues, find_long_values
from warehouse.load.appending import ROW_GROUP
from warehouse.load.batches import Batch, plan_batches, size_of
from warehouse.load.committer import Committer
from warehouse.load.content import Content, decode_apart, merge_contents, read_dumps
from warehouse.load.decoders import OWN_DECODER, Decoder
from warehouse.load.deduplicator import Deduplicator
from warehouse.load.doubts import last_dump, read_doubts
from warehouse.load.interpreter import tuned_interpreter
from warehouse.load.summary import IngestProgress, IngestSummary

# With fewer events at a time, DuckDB's row groups would be so empty that it rewrites them when the
# store closes (it looks for four in a row that fit into three), and the file twice as large.
COMMIT_EVENTS = 4 * ROW_GROUP
COMMIT_BATCHES = 16  # in one commit, however few events they have: debug buffers need memory, too
COMMIT_BYTES = 64 << 20  # of dumps and their debug buffers in one commit
FIRST_BYTES = (
    16 << 20
)  # the same for the first commit, which waits until all of its dumps are decoded
AHEAD_BYTES = 16 << 20  # of dumps that a thread reads ahead, and of dumps that it decodes ahead
STREAM_BYTES = 64 << 20  # larger dumps are decoded in parts

_NONE = LongValues()

_AnyBatch = TypeVar("_AnyBatch", bound=Batch)
_Started = TypeVar("_Started")
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")


class DumpSource(Protocol):
    """Dumps to ingest; their number may become known only with the last of them."""

    def __len__(self) -> int:
        """Number of dumps known so far."""

    def __iter__(self) -> Iterator[Dump]:
        """The dumps in order."""


class CommitGroup(NamedTuple, Generic[_AnyBatch]):
    """Batches to commit together.

    Attributes:
        batches: The batches in order.
        content: Content of all dumps; None for a batch whose dumps are to be streamed.
    """

    batches: list[_AnyBatch]
    content: Content | None

    def find_long_values(self) -> LongValues:
        """Long values of the group; a whole streamed dump or debug buffer may be one."""
        sizes = [size for batch in self.batches for size in batch.logged_bytes()]
        if self.content is None:
            sizes += [batch.held_bytes for batch in self.batches]
            return LongValues(sum(sizes), max(sizes, default=0))
        found = find_long_values(self.content.decoded.tables.values())
        return found + LongValues(sum(sizes), max(sizes, default=0))


def ingest_dumps(
    connection: duckdb.DuckDBPyConnection,
    dumps: DumpSource,
    *,
    archive: Archive | None = None,
    decoder: Decoder = OWN_DECODER,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest dumps in order; every batch is committed completely before the next one.

    Args:
        connection: The store's only writer.
        dumps: Dumps to ingest.
        archive: Archive for ingested and refused files, sealed before each commit.
        decoder: Decodes the dumps.
        jobs: Threads that read and decode, in addition to the committing thread; by default one for
            each other core.
        progress: Called after each commit, and before one that has long values.

    Returns:
        The summary, without notes and seconds. Dumps that cannot be read or decoded, or that lack
        a manifest, are refused and recorded; the other dumps are ingested. An ETRecord or debug
        buffer that cannot be read is refused, too, and its dumps are ingested without it.
    """
    workers = jobs or max(count_cores() - 1, 1)
    summary, n_done = IngestSummary(), 0

    def report(coming: LongValues = _NONE) -> None:
        if progress is not None:
            done = n_done, len(dumps), summary.byte_count, summary.n_events
            progress(IngestProgress(*done, coming))

    programs: set[int] = set()  # ids of the dumps' ETRecords
    before = last_dump(connection)
    with (
        ThreadPoolExecutor(workers) as pool,
        closing(Deduplicator(connection, decoder)) as deduplicator,
        ThreadPoolExecutor(1) as thread,
        tuned_interpreter(),
    ):
        committer = Committer(connection, archive, decoder)
        reading = ((some, pool.submit(read_dumps, some)) for some in plan_batches(dumps))
        read = _buffered(reading, workers, lambda some: sum(map(size_of, some)))
        batches = (deduplicator.sort(some, files.result()) for some, files in read)
        for group in _prefetch(thread, decoded_groups(pool, batches, workers, decoder)):
            if (coming := group.find_long_values()) != _NONE:
                report(coming)
            summary += committer.commit(*group)
            n_done += sum(batch.file_count for batch in group.batches)
            programs.update(id_ for batch in group.batches for id_ in batch.program_ids())
            del group  # otherwise its columns would stay in memory until the next group
            gc.collect(1)  # objects of this group
            report()
        return replace(summary, doubts=read_doubts(connection, programs, after=before))


def decoded_groups(
    pool: Executor,
    batches: Iterable[_AnyBatch],
    workers: int,
    decoder: Decoder = OWN_DECODER,
) -> Iterator[CommitGroup[_AnyBatch]]:
    """Batches, decoded in a pool, in groups to commit together."""
    started = (_start_decoding(pool, batch, decoder) for batch in batches)
    return map(_merge, _groups(_buffered(started, workers, attrgetter("byte_count"))))


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _start_decoding(
    pool: Executor, batch: _AnyBatch, decoder: Decoder
) -> tuple[_AnyBatch, Future[Content] | None]:
    """Start decoding a batch, unless it is so big that its dumps are to be streamed."""
    if sum(len(dump.data) for dump in batch.dumps) >= STREAM_BYTES:
        return batch, None
    return batch, pool.submit(decode_apart, batch.dumps, decoder.decode)


def _buffered(
    started: Iterable[tuple[_Started, _Result]], count: int, size: Callable[[_Started], int]
) -> Iterator[tuple[_Started, _Result]]:
    """Started work in order; each piece is yielded only when later pieces have been started.

    Up to `count` pieces wait, or fewer if they take more than `count` times AHEAD_BYTES.
    """
    waiting: deque[tuple[_Started, _Result]] = deque()
    n_bytes = 0
    for work in started:
        waiting.append(work)
        n_bytes += size(work[0])
        while len(waiting) > count or n_bytes > count * AHEAD_BYTES:
            n_bytes -= size(waiting[0][0])
            yield waiting.popleft()
    yield from waiting


def _prefetch(thread: Executor, items: Iterator[_Item]) -> Iterator[_Item]:
    """The items; while the caller uses an item, the thread fetches the next."""
    coming = thread.submit(list[_Item], islice(items, 1))
    while item := coming.result():
        coming = thread.submit(list[_Item], islice(items, 1))
        yield item.pop()


def _groups(
    decodings: Iterable[tuple[_AnyBatch, Future[Content] | None]],
) -> Iterator[list[tuple[_AnyBatch, Content | None]]]:
    """Neighbouring batches to commit together; streamed dumps are committed alone."""
    group: list[tuple[_AnyBatch, Content | None]] = []
    n_events, n_bytes, most_bytes = 0, 0, FIRST_BYTES
    for batch, decoding in decodings:
        content = decoding.result() if decoding else None
        if group and content is None:
            yield group
            group, n_events, n_bytes = [], 0, 0
        group.append((batch, content))
        n_events += content.decoded.tables["events"].num_rows if content else COMMIT_EVENTS
        n_bytes += batch.held_bytes
        if n_events >= COMMIT_EVENTS or n_bytes >= most_bytes or len(group) == COMMIT_BATCHES:
            yield group
            group, n_events, n_bytes, most_bytes = [], 0, 0, COMMIT_BYTES
    if group:
        yield group


def _merge(group: Sequence[tuple[_AnyBatch, Content | None]]) -> CommitGroup[_AnyBatch]:
    contents = [content for _, content in group if content]
    content = merge_contents(contents) if contents else None
    return CommitGroup([batch for batch, _ in group], content)
