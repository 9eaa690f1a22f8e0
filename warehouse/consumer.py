"""Drains the inbox of an open store in a thread."""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.rewriting import MANY_SEGMENTS, merge_segments
from tracehouse.warehouse.engine.memory_limit import APPENDING, MemoryLimit, stored_long_values
from tracehouse.warehouse.engine.store_file import FILE_NAME, INBOX_FOLDER
from tracehouse.warehouse.errors import FullDiskError, StoreError, WarehouseError, write_error
from tracehouse.warehouse.inbox.accept import KnownDumps
from tracehouse.warehouse.inbox.log import find_logs
from tracehouse.warehouse.inbox.refusals import RefusalQueue, read_conflicts
from tracehouse.warehouse.opening.doors import errors_while_open
from tracehouse.warehouse.opening.snapshots import Publisher
from tracehouse.warehouse.readers import ReaderPool
from tracehouse.warehouse.store import Store

if TYPE_CHECKING:
    from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary
    from tracehouse.warehouse.upkeep.compact import CompactionResult

BATCH_BYTES = 128 << 20  # of waiting dumps that are indexed immediately

_LARGE_BYTES = 1 << 20  # mean size of dumps above which they are large
_RETRY_SECONDS = 1.0  # minimum time from a failed drain to the next
_MOST_RETRY_SECONDS = 600.0

_BUG = "dumps cannot be indexed, and stay in the inbox: this is a bug, please report it"
_ENDS = "the service ends; run the command again when it has started"

_Result = TypeVar("_Result")


class _StopError(BaseException):
    """The commit that was under way is the last one; this is no failure."""


class Consumer:
    """A thread that indexes the dumps in a store's inbox.

    It drains the inbox when enough dumps wait, or the oldest has waited long enough. Use the object
    as a context manager: on exit it indexes the remaining dumps and publishes a snapshot,
    unless `leave_backlog` was called.

    Attributes:
        readers: Readers of the store, for other threads.
        memory: DuckDB's memory limit, which readers of the live store raise temporarily.
        known: Dumps in the store and the backlog, with the backlog's size, number and lag.
        accepted: Dumps accepted since the start.
        indexed: Dumps indexed since the start, by the pool of their device.
        refused: Files refused since the start, by reason.
        refusals: Refusals of uploads, which are recorded before the next drain or commit.
        drain_seconds: Seconds that the last drain of a non-empty inbox took.
        upkeep_count: Functions that `perform` has run and that may have changed what readers see.
        is_caught_up: Whether all dumps that were in the inbox at the start are indexed.
        problem: Why dumps cannot be indexed, or a snapshot not be published; this is retried.
        report: Called once with each new problem, and when there is none any more.
    """

    def __init__(
        self,
        warehouse: Store,
        store: Path,
        *,
        batch_dumps: int,
        batch_seconds: float,
        snapshot_seconds: float,
    ) -> None:
        """Use a store that is open for writing; no other thread or process may write to it."""
        self._warehouse, self._store = warehouse, store
        self._long_values = stored_long_values(warehouse.writing, store / FILE_NAME)
        self._batch_dumps, self._batch_seconds = batch_dumps, batch_seconds
        self._publisher = Publisher(warehouse.snapshot, pause_seconds=snapshot_seconds)
        self._has_new = False  # since the last snapshot
        self._is_snapshot_doubtful = True  # whether there may be none, as after a forget
        self._given, self._is_ending, self._has_ended = 0, False, False
        self._is_leaving = False
        self._is_doubtful = True  # whether the store may have to be opened or brought up to date
        self._upkeep: deque[tuple[Callable[[], Any], Future[Any], bool]] = deque()
        self._changed = threading.Condition()
        self._retry_seconds = _RETRY_SECONDS
        self._thread = threading.Thread(target=self._run, name="consumer")
        self.readers = ReaderPool(warehouse, store)
        self.known = KnownDumps(warehouse.stored_dumps())
        self.memory = MemoryLimit(warehouse.writing)
        self.memory.allow(self._long_values.held_bytes)
        self.accepted = 0
        self.indexed: Counter[str | None] = Counter()
        self.refused: Counter[str] = Counter()
        self.refusals = RefusalQueue(read_conflicts(warehouse.writing))
        self.drain_seconds = 0.0
        self.upkeep_count = 0
        self.is_caught_up = False
        self.problem: WarehouseError | None = None
        self.report: Callable[[str], object] = lambda _: None

    def count_accepted(self, count: int = 1) -> None:
        """Count dumps that were accepted into the inbox; they must be in `known` already."""
        with self._changed:
            self._given += count
            self.accepted += count
            if self._is_due():
                self._changed.notify()

    @property
    def is_idle(self) -> bool:
        """Whether no dumps wait to be indexed."""
        return self.is_caught_up and not self.known.backlog_dumps

    def leave_backlog(self) -> None:
        """Leave what is not indexed yet in the inbox when the context ends."""
        self._is_leaving = True

    def perform(
        self, function: Callable[[], _Result], *, is_snapshot_needed: bool = True
    ) -> Future[_Result]:
        """Run a function that writes the store after the next drain, in the consumer's thread.

        Dumps that were accepted before are in the store by then. The future of a function that
        comes after the end has a StoreError. Readers of a snapshot see what the function changed,
        unless no snapshot is needed.
        """
        future: Future[_Result] = Future()
        with self._changed:
            self._upkeep.append((function, future, is_snapshot_needed))
            if self._has_ended:
                self._refuse_upkeep()
            self._changed.notify()
        return future

    def publish(self) -> Future[None]:
        """Publish a snapshot that has all dumps which are accepted now, unless the newest has."""

        def publish_new() -> None:
            if self._has_new or self._is_snapshot_doubtful:
                self._warehouse.snapshot()
                self._has_new = self._is_snapshot_doubtful = False

        return self.perform(publish_new, is_snapshot_needed=False)

    def compact(self, progress: Callable[[IngestProgress], None] | None = None) -> CompactionResult:
        """Compact the store, in a function that `perform` runs; errors are passed on."""
        return self._warehouse.compact(self._alone(), progress)

    def check_running(self) -> None:
        """Check that a function that `perform` runs may go on.

        Raises:
            StoreError: The consumer is to end.
        """
        if self._is_ending:
            raise StoreError(str(self._store), _ENDS)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self.readers.reopening(), self.memory.follow_reopen(lambda: self._warehouse.writing):
            yield

    def __enter__(self) -> Consumer:
        self._was_patient = self._warehouse.is_patient
        self._warehouse.is_patient = True  # readers are open
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join()
        self.readers.close()
        self.memory.close()
        self._warehouse.is_patient = self._was_patient

    def _run(self) -> None:
        try:
            with suppress(_StopError):
                self._work()
            self._record_refusals()
        except WarehouseError as error:
            self.problem = error
        except BaseException:  # whatever ends the thread, readiness checks must report it
            problem = "the thread that indexes dumps has ended; restart the service"
            self.problem = StoreError(str(self._store), problem)
            raise
        finally:
            with self._changed:
                self._has_ended = True
                self._refuse_upkeep()

    def _work(self) -> None:
        is_ending = False
        while not is_ending:
            is_ending = self._await_work()
            if self._is_leaving:
                return
            self._turn(is_ending=is_ending)
            if not is_ending:
                self._perform_next()

    def _await_work(self) -> bool:
        """Wait until a drain is due; True if it is the last drain."""
        with self._changed:
            if not self.is_caught_up and not self.problem:
                return self._is_ending
            if self.problem:
                self._changed.wait_for(lambda: self._is_ending, timeout=self._retry_seconds)
            self._changed.wait_for(self._is_due, timeout=self._batch_seconds)
            self._given = 0
            return self._is_ending

    def _turn(self, *, is_ending: bool) -> None:
        """Index the dumps in the inbox; after a failure, they stay there.

        A failure after long work, such as a rebuild, is not repeated at once.
        """
        start = time.monotonic()
        try:
            self._index(is_ending=is_ending)
            self._succeed()
        except WarehouseError as error:
            self._fail(error)
        except OSError as error:
            self._fail(write_error(str(self._store), error, problem="cannot be read or written"))
        except Exception as error:  # a bug: the dumps stay, and later ones may show which it is of
            problem = f"{type(error).__name__} ({error!s:.300}): {_BUG}"
            self._fail(StoreError(str(self._store), problem), traceback.format_exc())
        spent = time.monotonic() - start
        self._retry_seconds = min(max(spent, _RETRY_SECONDS), _MOST_RETRY_SECONDS)

    def _recover(self) -> None:
        """Open the store again if necessary, and bring it up to date; errors are passed on."""
        if self._is_doubtful:
            self._warehouse.recover(self._alone(), self._check_staying)
            self._is_doubtful = False

    def _check_staying(self, _: IngestProgress) -> None:
        """Check that a rebuild may go on; the next start would begin it again.

        Raises:
            _StopError: The service ends.
        """
        if self._is_leaving:
            raise _StopError

    def _ensure_snapshot(self) -> WarehouseError | None:
        """Publish a snapshot if there is none; on a full disk, dumps are indexed nevertheless.

        Returns:
            Why it cannot be published, if so.
        """
        try:
            if self._is_snapshot_doubtful and not _has_snapshot(self._store):
                self._warehouse.snapshot()
            self._is_snapshot_doubtful = False
        except FullDiskError as error:
            return error
        return None

    def _succeed(self) -> None:
        """Drop the last problem, if any, and report that."""
        if self.problem:
            self.report(f"{self._store}: works again")
        self.problem = None

    def _index(self, *, is_ending: bool) -> None:
        """Index what is in the inbox, and publish it if that is due; errors are passed on."""
        self._recover()
        room = self._raised_memory()
        self._record_refusals()
        missing = self._ensure_snapshot()
        self.known.begin_draining()
        if find_logs(self._store / INBOX_FOLDER):
            with room:
                self._take_in(self._warehouse.drain(progress=self._note))
        self.known.end_draining()
        self.is_caught_up = True
        merge_segments(Archive(self._store), least=MANY_SEGMENTS)
        if self._has_new and self._publisher.publish_if_due(is_wanted=is_ending):
            self._has_new = False
        if missing:
            raise missing

    def _fail(self, error: WarehouseError, details: str = "") -> None:
        """Keep a problem, and report it with its details unless it is the last one."""
        if str(error) != str(self.problem):
            self.report(f"{error}\n{details}".rstrip())
        self.problem, self._is_doubtful = error, True

    def _raised_memory(self) -> AbstractContextManager[None]:
        """Give DuckDB more memory while large dumps wait, to index them faster."""
        if self.known.backlog_bytes > _LARGE_BYTES * self.known.backlog_dumps:
            return self.memory.raise_limit(APPENDING)
        self.memory.lower()
        return nullcontext()

    def _note(self, done: IngestProgress) -> None:
        """Record a commit, and allow DuckDB the memory that the next commit needs.

        Raises:
            _StopError: The rest of the inbox is to stay there.
        """
        self._record_refusals()
        if self._is_leaving:
            raise _StopError
        self.known.note_drained(done.done_bytes)
        self._long_values += done.coming
        self.memory.allow(self._long_values.held_bytes)

    def _is_due(self) -> bool:
        is_enough = self._given >= self._batch_dumps or self.known.backlog_bytes >= BATCH_BYTES
        is_wanted = bool(self._upkeep) or (self.is_caught_up and self._is_snapshot_doubtful)
        return self._is_ending or is_enough or is_wanted

    def _perform_next(self) -> None:
        """Run the next function of `perform`; the next snapshot shows what it changed."""
        if not self._upkeep:
            return
        function, future, is_snapshot_needed = self._upkeep.popleft()
        try:
            try:
                self._recover()
                file = self._store / FILE_NAME
                with self.memory.raise_limit(), errors_while_open(self._store, file):
                    result = function()
            finally:
                if is_snapshot_needed:
                    self.upkeep_count += 1
                    self._has_new = self._is_snapshot_doubtful = True
            future.set_result(result)
        except BaseException as error:  # the thread that waits for the result raises it
            self._is_doubtful = True
            ended = StoreError(str(self._store), _ENDS)
            future.set_exception(ended if isinstance(error, _StopError) else error)

    def _refuse_upkeep(self) -> None:
        while self._upkeep:
            self._upkeep.popleft()[1].set_exception(StoreError(str(self._store), _ENDS))

    def _record_refusals(self) -> None:
        with self.refusals.drain() as (refusals, settled):
            if refusals or settled:
                self._warehouse.record_refusals(refusals, settled=settled)
                self.refused.update(refusal.reason for refusal in refusals)
                self._has_new = True

    def _take_in(self, summary: IngestSummary) -> None:
        self._has_new |= bool(summary.n_files)
        self.indexed += summary.pools
        self.refused.update(refusal.reason for refusal in summary.refused)
        self.drain_seconds = summary.seconds


def _has_snapshot(store: Path) -> bool:
    """Whether the store has a snapshot with the current schema."""
    try:
        snapshot = Store.open_snapshot(store)
    except StoreError:
        return False
    if snapshot is not None:
        snapshot.close()
    return snapshot is not None
