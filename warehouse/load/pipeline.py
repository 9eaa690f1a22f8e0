"""Files into the store: read and decoded in threads, claimed and committed in order.

What waits between these steps is bounded in number and bytes, whatever the files are.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, fields, replace
from itertools import islice
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

import duckdb

from ingest.dump import Dump, Refusal
from warehouse.archive.archive import Archive
from warehouse.engine.long_values import LongValues, find_long_values
from warehouse.load.appending import ROW_GROUP
from warehouse.load.batches import Batch, plan_batches, size_of
from warehouse.load.committer import CONFLICT, CommitResult, Committer
from warehouse.load.content import Content, decode_apart, merge_contents, read_dumps
from warehouse.load.decoders import OWN_DECODER, Decoder
from warehouse.load.deduplicator import Deduplicator
from warehouse.load.doubts import last_dump, read_doubts
from warehouse.load.interpreter import gc_paused, short_switch_interval

# Fewer events at a time would leave DuckDB's row groups so empty that it rewrites them when the
# store closes (it looks for four in a row that fit into three), and the file twice as large.
COMMIT_EVENTS = 4 * ROW_GROUP
COMMIT_BATCHES = 16  # at most, however few events they have: debug buffers need memory too
COMMIT_BYTES = 64 << 20  # of dumps and their debug buffers, likewise
FIRST_BYTES = 16 << 20  # likewise, of the first: nothing is committed until they are decoded
AHEAD_BYTES = (
    16 << 20
)  # of dumps that are read, and as many decoded, before they are used: a thread
STREAM_BYTES = 64 << 20  # from this size on a dump is decoded in parts

_NONE = LongValues()

_AnyBatch = TypeVar("_AnyBatch", bound=Batch)
_Started = TypeVar("_Started")
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")


class DumpSource(Protocol):
    """Dumps to ingest, whose number is known when the last of them is made, if not before."""

    def __len__(self) -> int:
        """How many there are, as far as is known."""

    def __iter__(self) -> Iterator[Dump]:
        """Each in turn."""


class CommitGroup(NamedTuple, Generic[_AnyBatch]):
    """Batches to commit together.

    Attributes:
        batches: They are, in order.
        content: Of all their dumps; None for a batch whose dumps are to be streamed.
    """

    batches: list[_AnyBatch]
    content: Content | None

    def find_long_values(self) -> LongValues:
        """Its long values; what is streamed or a debug buffer may be one, for all that is known."""
        sizes = [size for batch in self.batches for size in batch.logged_bytes()]
        if self.content is None:
            sizes += [batch.held_bytes for batch in self.batches]
            return LongValues(sum(sizes), max(sizes, default=0))
        found = find_long_values(self.content.decoded.tables.values())
        return found + LongValues(sum(sizes), max(sizes, default=0))


class IngestProgress(NamedTuple):
    """How far an ingest has come.

    Attributes:
        done_files: Dumps handled.
        total_files: Dumps known of.
        done_bytes: Bytes read.
        n_events: Events committed.
        coming: Long values in what is committed next; none after a commit.
    """

    done_files: int
    total_files: int
    done_bytes: int
    n_events: int
    coming: LongValues = _NONE


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
        notes: What is odd about the manifests, as sentences.
        doubts: What ETRecords and the dumps they came with disagree on, and clocks that cannot be
            right, as sentences.
        seconds: Wall time taken, the listing of the paths included.
    """

    n_files: int = 0
    n_dumps: int = 0
    n_events: int = 0
    byte_count: int = 0
    n_duplicates: int = 0
    n_conflicts: int = 0
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    seconds: float = 0.0

    def __add__(self, other: IngestSummary) -> IngestSummary:
        """What both did."""
        names = (field.name for field in fields(self))
        return IngestSummary(*(getattr(self, name) + getattr(other, name) for name in names))


def ingest_dumps(
    connection: duckdb.DuckDBPyConnection,
    dumps: DumpSource,
    *,
    archive: Archive | None = None,
    decoder: Decoder = OWN_DECODER,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest dumps in order; every batch is committed whole before the next one.

    Args:
        connection: The store's only writer.
        dumps: What comes in.
        archive: Where all that is taken or refused is kept, sealed before it is committed.
        decoder: What decodes them.
        jobs: Threads that read and decode, besides the one that commits; by default as many as
            there are cores for.
        progress: Called after each committed batch, and before one that has long values.

    Returns:
        What was done, without notes and seconds. Dumps that cannot be read or decoded, or lack
        a manifest, are refused and put on record; they stop no other. So is an ETRecord or debug
        buffer that cannot be read; its dumps are taken without it.
    """
    workers = jobs or max(count_cores() - 1, 1)
    summary, n_done = IngestSummary(), 0

    def report(coming: LongValues = _NONE) -> None:
        if progress is not None:
            done = n_done, len(dumps), summary.byte_count, summary.n_events
            progress(IngestProgress(*done, coming))

    programs: set[int] = set()  # ids of the ETRecords that came along
    before = last_dump(connection)
    with (
        ThreadPoolExecutor(workers) as pool,
        closing(Deduplicator(connection, decoder)) as deduplicator,
        ThreadPoolExecutor(1) as thread,
        gc_paused(),
        short_switch_interval(),
    ):
        committer = Committer(connection, archive, decoder)
        reading = ((some, pool.submit(read_dumps, some)) for some in plan_batches(dumps))
        read = _hold_back(reading, workers, lambda some: sum(map(size_of, some)))
        batches = (deduplicator.sort(some, files.result()) for some, files in read)
        for group in _prefetch(thread, decoded_groups(pool, batches, workers, decoder)):
            if (coming := group.find_long_values()) != _NONE:
                report(coming)
            summary = _add(summary, committer.commit(*group))
            n_done += sum(batch.file_count for batch in group.batches)
            programs.update(id_ for batch in group.batches for id_ in batch.program_ids())
            del group  # or its columns would wait for the next group
            gc.collect(1)  # what came since the last group
            report()
        return replace(summary, doubts=read_doubts(connection, programs, after=before))


def decoded_groups(
    pool: Executor,
    batches: Iterable[_AnyBatch],
    workers: int,
    decoder: Decoder = OWN_DECODER,
) -> Iterator[CommitGroup[_AnyBatch]]:
    """Batches decoded in a pool, as many at a time as are to be committed together."""
    started = (_start_decoding(pool, batch, decoder) for batch in batches)
    return map(_merge, _groups(_hold_back(started, workers, attrgetter("byte_count"))))


def _add(summary: IngestSummary, done: CommitResult) -> IngestSummary:
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


def _start_decoding(
    pool: Executor, batch: _AnyBatch, decoder: Decoder
) -> tuple[_AnyBatch, Future[Content] | None]:
    """Start decoding a batch, unless it is so big that it is to be streamed."""
    if sum(len(dump.data) for dump in batch.dumps) >= STREAM_BYTES:
        return batch, None
    return batch, pool.submit(decode_apart, batch.dumps, decoder.decode)


def _hold_back(
    started: Iterable[tuple[_Started, _Result]], count: int, size: Callable[[_Started], int]
) -> Iterator[tuple[_Started, _Result]]:
    """Started work in order, each piece handed on only when more pieces after it are started.

    Up to `count` pieces of work wait here; the oldest is handed on when another is started. It is
    handed on earlier if those that wait take more than `count` times AHEAD_BYTES.
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
    """The items; while one is in use, the thread already gets the next."""
    coming = thread.submit(list[_Item], islice(items, 1))
    while item := coming.result():
        coming = thread.submit(list[_Item], islice(items, 1))
        yield item.pop()


def _groups(
    decodings: Iterable[tuple[_AnyBatch, Future[Content] | None]],
) -> Iterator[list[tuple[_AnyBatch, Content | None]]]:
    """Neighbouring batches to commit together; streamed dumps go alone."""
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
    return CommitGroup(
        [batch for batch, _ in group], merge_contents(contents) if contents else None
    )
