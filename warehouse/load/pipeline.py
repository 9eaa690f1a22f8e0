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
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Protocol, TypeVar

from tracehouse.ingest.dump import Dump, HashedFile, Refusal
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.memory_limit import LongValues, find_long_values
from tracehouse.warehouse.load.batches import Batch, ManifestAndCompanions, plan_batches, size_of
from tracehouse.warehouse.load.committer import Committer
from tracehouse.warehouse.load.content import (
    OWN_DECODER,
    Content,
    Decoder,
    decode_apart,
    read_dumps,
)
from tracehouse.warehouse.load.dump_rows import last_dump, read_doubts
from tracehouse.warehouse.load.stored_dumps import StoredDumps
from tracehouse.warehouse.load.stored_events import ROW_GROUP
from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary

_SWITCH_SECONDS = 0.0005  # a tenth of Python's default

# With fewer events at a time, DuckDB's row groups would be so empty that it rewrites them when the
# store closes (it looks for four in a row that fit into three), and the file twice as large.
COMMIT_EVENTS = 4 * ROW_GROUP
COMMIT_BATCHES = 16  # in one commit, however few events they have: debug buffers need memory, too
COMMIT_BYTES = 64 << 20  # dumps and their debug buffers in one commit
FIRST_BYTES = (
    16 << 20
)  # the same for the first commit, which waits until all of its dumps are decoded
AHEAD_BYTES = 16 << 20  # dumps that a thread reads ahead; as many are decoded ahead
STREAM_BYTES = 64 << 20  # larger dumps are decoded in parts
_NONE = LongValues()
_Started = TypeVar("_Started")
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")


@contextmanager
def tuned_interpreter() -> Iterator[None]:
    """Pause the garbage collector and shorten the switch interval until the body ends.

    The collector would scan all objects repeatedly; the caller collects new objects after each
    group instead. Threads that commit or read often wait for DuckDB and the disk, and would then
    also wait for a computing thread. A disabled collector stays disabled, and a shorter interval
    stays.
    """
    is_collecting, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(min(interval, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if is_collecting:
            gc.enable()


class Deduplicator:
    """Sorts dumps that were read, in order and in one thread; the batches go to the commit."""

    def __init__(self, stored: StoredDumps, decoder: Decoder) -> None:
        self._stored = stored
        self._reader = ManifestAndCompanions(decoder)
        self._manifests: dict[str, str] = {}  # every dump's so far, by SHA-256
        self._unarchived: set[str] = set()  # stored dumps

    def sort(self, dumps: Sequence[Dump], read: Sequence[HashedFile | Refusal]) -> Batch:
        """The batch of some dumps: those to decode, duplicates, and refused ones."""
        files = [file for file in read if isinstance(file, HashedFile)]
        batch = Batch(len(dumps), sum(len(file.data) for file in files))
        self._look_up([file.sha256 for file in files])
        for dump, file in zip(dumps, read, strict=True):
            if isinstance(file, Refusal):
                batch.refused.append(file)
            else:
                self._add(dump, file, batch)
        self._reader.try_buffers(batch)
        return batch

    def _add(self, incoming: Dump, file: HashedFile, batch: Batch) -> None:
        dump = self._reader.read(incoming, file, batch)
        if dump is None:
            return
        known = self._manifests.get(dump.sha256)
        if known is None:
            self._manifests[dump.sha256] = dump.manifest.canonical_json()
            batch.dumps.append(dump)
            return
        data = dump.data if dump.sha256 in self._unarchived else None
        batch.duplicates.append(dump._replace(data=data, known_manifest=known))

    def _look_up(self, hashes: Sequence[str]) -> None:
        """Remember the manifests of dumps that are in the store."""
        known = self._stored.manifests(hashes)
        if known:
            self._unarchived |= self._stored.unarchived(known)
        for sha256, manifest in known.items():
            self._manifests[sha256] = sys.intern(manifest)  # many dumps have the same


class DumpSource(Protocol):
    """Dumps to ingest; their number may become known only with the last of them."""

    def __len__(self) -> int:
        """Number of dumps known so far."""

    def __iter__(self) -> Iterator[Dump]:
        """The dumps in order."""


def ingest_dumps(
    stored: StoredDumps,
    dumps: DumpSource,
    *,
    archive: Archive | None = None,
    decoder: Decoder = OWN_DECODER,
    jobs: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> IngestSummary:
    """Ingest dumps in order; every batch is committed completely before the next one.

    Args:
        stored: The dumps of the store, to which the new ones are added.
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
    before = last_dump(stored.writer)
    with (
        ThreadPoolExecutor(workers) as pool,
        ThreadPoolExecutor(1) as thread,
        tuned_interpreter(),
    ):
        committer = Committer(stored.writer, archive, decoder, indexed=stored.indexed)
        deduplicator = Deduplicator(stored, decoder)
        reading = ((some, pool.submit(read_dumps, some)) for some in plan_batches(dumps))
        read = _buffered(reading, workers, lambda some: sum(map(size_of, some)))
        batches = (deduplicator.sort(some, files.result()) for some, files in read)
        for group in _prefetch(thread, decoded_groups(pool, batches, workers, decoder)):
            if (coming := _long_values(group)) != _NONE:
                report(coming)
            # Before the commit, which may fail when some of them are stored.
            stored.add(dump.sha256 for batch in group for dump in batch.dumps)
            summary += committer.commit(group)
            n_done += sum(batch.file_count for batch in group)
            programs.update(id_ for batch in group for id_ in batch.program_ids())
            del group  # otherwise its columns would stay in memory until the next group
            gc.collect(1)  # objects of this group
            report()
        return replace(summary, doubts=read_doubts(stored.writer, programs, after=before))


def decoded_groups(
    pool: Executor, batches: Iterable[Batch], workers: int, decoder: Decoder = OWN_DECODER
) -> Iterator[list[Batch]]:
    """Batches, decoded in a pool, in groups to commit together."""
    started = (_start_decoding(pool, batch, decoder) for batch in batches)
    return _groups(_buffered(started, workers, attrgetter("byte_count")))


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _start_decoding(
    pool: Executor, batch: Batch, decoder: Decoder
) -> tuple[Batch, Future[list[Content]] | None]:
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
    sizes: deque[int] = deque()
    for work in started:
        waiting.append(work)
        sizes.append(size(work[0]))
        while len(waiting) > count or sum(sizes) > count * AHEAD_BYTES:
            sizes.popleft()
            yield waiting.popleft()
    yield from waiting


def _prefetch(thread: Executor, items: Iterator[_Item]) -> Iterator[_Item]:
    """The items; while the caller uses an item, the thread fetches the next."""
    coming = thread.submit(list[_Item], islice(items, 1))
    while item := coming.result():
        coming = thread.submit(list[_Item], islice(items, 1))
        yield item.pop()


def _groups(
    decodings: Iterable[tuple[Batch, Future[list[Content]] | None]],
) -> Iterator[list[Batch]]:
    """Neighbouring batches to commit together; streamed dumps are committed alone."""
    group: list[Batch] = []
    n_events, n_bytes, most_bytes = 0, 0, FIRST_BYTES
    for batch, decoding in decodings:
        batch.contents = decoding.result() if decoding else []
        if group and not decoding:
            yield group
            group, n_events, n_bytes = [], 0, 0
        group.append(batch)
        n_events += batch.n_events if decoding else COMMIT_EVENTS
        n_bytes += batch.held_bytes
        if n_events >= COMMIT_EVENTS or n_bytes >= most_bytes or len(group) == COMMIT_BATCHES:
            yield group
            group, n_events, n_bytes, most_bytes = [], 0, 0, COMMIT_BYTES
    if group:
        yield group


def _long_values(group: Sequence[Batch]) -> LongValues:
    """Long values of a group; a streamed dump or a debug buffer may be one as a whole."""
    sizes = [size for batch in group for size in batch.logged_bytes()]
    sizes += [batch.held_bytes for batch in group if not batch.contents]
    contents = [content for batch in group for content in batch.contents]
    found = find_long_values(one for content in contents for one in content.decoded.tables.values())
    return found + LongValues(sum(sizes), max(sizes, default=0))
