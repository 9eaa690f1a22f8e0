"""Workers of this process: each serves one snapshot, until a newer one exists or it fails.

A statement is interrupted at its deadline. If it continues, its worker is killed, without waiting
for the worker's end, and replaced. The second that a worker takes to start does not count for the
deadline.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

import pyarrow as pa

from tracehouse.warehouse.children.messages import Message, receive, receive_bytes, send
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.errors import CostlyStatementError, StatementError, StoreError
from tracehouse.warehouse.opening.snapshots import HeldSnapshot, hold_newest
from tracehouse.warehouse.sandbox.bounds import MOST_TEXT_BYTES, Bounds, SnapshotAnswer

# Arrow's own allocator would reserve a GiB of addresses, which counts as memory.
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}

GRACE = 0.2  # seconds from the deadline until a statement that does not stop is killed

_STOPPED = "the statement was stopped"
_Waiting = TypeVar("_Waiting")
Params = Mapping[str, object] | Sequence[object] | None


class Stop:
    """Ends a statement that nobody waits for any more; safe in several threads."""

    def __init__(self) -> None:
        self._lock, self._is_set = Lock(), False
        self._kill: Callable[[], None] | None = None

    def set(self) -> None:
        """End the statement, now or as soon as it begins."""
        with self._lock:
            self._is_set = True
            if self._kill:
                self._kill()

    @contextmanager
    def stopping(self, kill: Callable[[], None]) -> Iterator[None]:
        """Let `set` call `kill` while the body runs.

        Raises:
            StatementError: The body failed after it was stopped.
            StoreError: The body failed with it.
        """
        with self._lock:
            self._kill = kill
        try:
            if self._is_set:
                raise StatementError(_STOPPED)
            yield
        except (StatementError, StoreError) as error:
            if self._is_set:
                raise StatementError(_STOPPED) from error
            raise
        finally:
            with self._lock:
                self._kill = None


class Sandbox:
    """Runs untrusted SQL; each calling thread has its own worker.

    Attributes:
        killed: Number of statements that were killed, because they did not stop.
    """

    def __init__(self, store: Path, bounds: Bounds) -> None:
        self._store, self._bounds = store, bounds
        self._waiting: list[_Worker] = []
        self._spares: list[ChildProcess] = []  # at most one, which has no snapshot yet
        self._replacing = ThreadPoolExecutor(1, "replacing")
        self._is_closed = False
        self.killed = 0

    def answer(
        self, text: str, params: Params = None, *, stop: Stop | None = None
    ) -> SnapshotAnswer:
        """Rows of one SELECT over the newest snapshot.

        Raises:
            StatementError: The statement is not a single SELECT (or EXPLAIN of one), fails, or was
                stopped.
            CostlyStatementError: The statement exceeds its limits.
            StoreError: The store has no snapshot, or the snapshot cannot be read.
        """
        _check_length(text)
        with self._one() as worker, (stop or Stop()).stopping(worker.kill):
            table = worker.run(text, params)
        return SnapshotAnswer(table, worker.held.snapshot.taken_at)

    def close(self) -> None:
        """End all idle workers; busy ones end after their statement."""
        self._is_closed = True
        self._replacing.shutdown()
        while worker := _pop(self._waiting):
            worker.end()
        while spare := _pop(self._spares):
            spare.end()

    @contextmanager
    def _one(self) -> Iterator[_Worker]:
        """A worker of the newest snapshot, for exclusive use.

        Raises:
            StoreError: The store has no snapshot, or the snapshot cannot be read.
        """
        held = hold_newest(self._store)
        if held is None:
            problem = "has no snapshot yet: the first is published when dumps are stored"
            raise StoreError(str(self._store), problem)
        worker = self._find(held)
        try:
            yield worker
        finally:
            if self._is_closed:
                worker.end()
            elif worker.is_ready:
                self._waiting.append(worker)
                self._replacing.submit(self._start_spare)
            else:
                self.killed += worker.is_overdue
                worker.kill()
                self._replacing.submit(self._replace, worker)

    def _replace(self, worker: _Worker) -> None:
        """Wait for a worker's end, and have another process ready."""
        worker.end()
        self._start_spare()

    def _start_spare(self) -> None:
        """Start a process for the next snapshot or worker, unless one waits."""
        if not (self._spares or self._is_closed):
            with suppress(StoreError):  # the next statement raises it again
                self._spares.append(_start_process(self._bounds))

    def _find(self, held: HeldSnapshot) -> _Worker:
        while worker := _pop(self._waiting):
            if worker.held.snapshot == held.snapshot:
                held.release()
                return worker
            worker.end()
        try:
            child = _pop(self._spares) or _start_process(self._bounds)
        except BaseException:  # an interrupt, too, must not leave the snapshot held
            held.release()
            raise
        return _Worker(self._store, held, self._bounds, child)


class _Worker:
    """A worker process.

    Attributes:
        held: The snapshot.
        is_ready: Whether the worker can run another statement; false before the first one.
        is_overdue: Whether a statement did not stop at its deadline.
    """

    def __init__(
        self, store: Path, held: HeldSnapshot, bounds: Bounds, child: ChildProcess
    ) -> None:
        """Take a process that has no snapshot yet."""
        self.held, self._child = held, child
        self.is_ready = self.is_overdue = False
        self._store, self._bounds, self._is_open = store, bounds, False

    def run(self, text: str, params: Params) -> pa.Table:
        """The answer to a statement.

        Raises:
            StatementError: The statement is not allowed, or fails.
            CostlyStatementError: The statement exceeds its limits.
            StoreError: The worker does not start, or its snapshot cannot be read.
        """
        self.is_ready = False
        self._start()
        channel = self._child.channel
        channel.settimeout(self._bounds.seconds + GRACE)
        try:
            send(channel, {"text": text, "params": params})
            message = receive(channel).message
            data = receive_bytes(channel, message["byte_count"])
        except TimeoutError as error:
            self.is_overdue = True
            raise self._too_costly("seconds") from error
        except (EOFError, OSError) as error:
            raise self._too_costly("memory") from error
        self._check(message)
        self.is_ready = True
        return _read(data, message["note"])

    def kill(self) -> None:
        """Kill the process, without waiting for its end."""
        self._child.process.kill()

    def end(self) -> None:
        """Kill the process if it still runs, wait for its end, and release the snapshot."""
        self._child.end()
        self.held.release()

    def _start(self) -> None:
        """Let the process open the snapshot, unless it has.

        Raises:
            StoreError: The process does not start, or the snapshot cannot be read.
        """
        if self._is_open:
            return
        files = self._store.absolute(), self.held.snapshot.path.absolute()
        try:
            self._child.await_start()
            channel = self._child.channel
            send(channel, dict(zip(("store", "snapshot"), map(str, files), strict=True)))
            message = receive(channel).message
        except (EOFError, OSError) as error:
            raise StoreError(sys.executable, _explain_start(f"it {self._child.end()}")) from error
        self._check(message)
        self._is_open = True

    def _check(self, message: Message) -> None:
        """Check that a message reports no failure.

        Raises:
            StatementError: The statement is not allowed, or fails.
            CostlyStatementError: The statement exceeds its limits.
            StoreError: The snapshot cannot be read.
        """
        match message.get("reason"):
            case None:
                return
            case "store":
                raise StoreError(str(self.held.snapshot.path), message["detail"])
            case "statement":
                self.is_ready = True
                raise StatementError(message["detail"])
            case reason:  # the worker may still hold the memory, so it is not reused
                raise self._too_costly(reason)

    def _too_costly(self, bound: str) -> CostlyStatementError:
        limits = self._bounds
        took = {
            "seconds": f"takes more than {limits.seconds:g} s",
            "memory": f"takes more than {limits.memory_bytes / (1 << 20):,.0f} MiB of memory",
            "answer": f"returns more than {limits.answer_rows:,} rows or "
            f"{limits.answer_bytes / (1 << 20):,.0f} MiB",
        }
        remedy = "add LIMIT, or aggregate" if bound == "answer" else "select less"
        return CostlyStatementError(bound, f"the statement {took[bound]}: {remedy}")


def _pop(waiting: list[_Waiting]) -> _Waiting | None:
    """The last of those that wait; None without any, though other threads take them, too."""
    try:
        return waiting.pop()
    except IndexError:
        return None


def _start_process(bounds: Bounds) -> ChildProcess:
    """A new process of a worker.

    Raises:
        StoreError: It cannot be started.
    """
    try:
        return ChildProcess(
            "tracehouse.warehouse.sandbox.worker",
            json.dumps(bounds),
            environment=_ENVIRONMENT,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise StoreError(sys.executable, _explain_start(f"{error.strerror}")) from error


def _check_length(text: str) -> None:
    """Check that a text is short enough.

    Raises:
        StatementError: The text is not Unicode.
        CostlyStatementError: The text is too long.
    """
    try:
        count = len(text.encode())
    except UnicodeEncodeError as error:
        raise StatementError(
            f"the statement is not Unicode at character {error.start:,}"
        ) from error
    if count > MOST_TEXT_BYTES:
        problem = f"the statement has {count:,} bytes, wanted at most {MOST_TEXT_BYTES:,}"
        raise CostlyStatementError("text", problem)


def _explain_start(why: str) -> str:
    return f"a process that answers SQL cannot be started ({why})"


def _read(data: bytes, note: str) -> pa.Table:
    table = pa.ipc.open_stream(data).read_all()
    return table.replace_schema_metadata({"note": note}) if note else table
