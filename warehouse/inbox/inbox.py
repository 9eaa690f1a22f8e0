"""The inbox of a store, which accepts dumps while other processes use the store.

A store that a service keeps open has a mark, which the service locks.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.ingest.durable import lock, sync_path, try_lock
from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.warehouse.engine.store_file import ARCHIVE_FOLDER, FILE_NAME, INBOX_FOLDER
from tracehouse.warehouse.errors import StoreError, write_errors
from tracehouse.warehouse.inbox.log import LogWriter
from tracehouse.warehouse.inbox.records import Delivery, pack_delivery
from tracehouse.warehouse.inbox.spools import Spool
from tracehouse.warehouse.load.summary import IngestSummary

_MOST = 1000  # items in a group
_MOST_GROUPS = 8  # that a caller writes: all but the first are of others

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MARK = "served"  # a file that the service locks
_GROUP_BYTES = 8 << 20  # Dumps of this size are written to disk together


class GroupCommit(Generic[_Item, _Result]):
    """Writes items of any thread in groups: the first caller writes, the others wait.

    A waiter is a future of `concurrent.futures` or asyncio, which gets the item's result or the
    error of its group.
    """

    def __init__(
        self,
        place: str,
        write: Callable[[Sequence[_Item]], Sequence[_Result]],
        *,
        deliver: Callable[[Callable[[], None]], object] = lambda answer: answer(),
        linger: Callable[[int], float] = lambda _: 0.0,
    ) -> None:
        """Set up the functions.

        Args:
            place: Path for errors.
            write: Writes items and returns their results; its StoreError goes to every waiter.
            deliver: Calls its argument in the thread of the waiters.
            linger: Returns seconds to wait for more items, from the number of waiting items.
        """
        self._place, self._write = place, write
        self._deliver, self._linger = deliver, linger
        self._waiting: deque[tuple[_Item, Any]] = deque()
        self._is_running, self._lock = False, threading.Lock()

    def join(self, item: _Item, waiter: Any) -> bool:
        """Submit an item; True if no other thread is writing, so the caller must call `run`."""
        with self._lock:
            self._waiting.append((item, waiter))
            is_first, self._is_running = not self._is_running, True
        return is_first

    def run(self) -> None:
        """Write the caller's group and a few more; a thread writes what still comes after them."""
        if self._write_groups(_MOST_GROUPS):
            threading.Thread(target=self._write_groups, name="group-commit").start()

    def _write_groups(self, most: float = math.inf) -> bool:
        """Write groups until no item waits; True if there may be more than the most groups."""
        group: list[tuple[_Item, Any]] = []
        try:
            while most > 0 and (group := self._next()):
                self._write_group(group)
                most -= 1
        except BaseException:  # an interrupt or a bug: waiters must not wait forever
            with self._lock:
                group += self._waiting
                self._waiting.clear()
                self._is_running = False
            interrupted = StoreError(self._place, "interrupted; submit it again")
            self._deliver(partial(_fail, group, interrupted))
            raise
        return most <= 0

    def _write_group(self, group: Sequence[tuple[_Item, Any]]) -> None:
        try:
            results = self._write([item for item, _ in group])
        except StoreError as error:
            self._deliver(partial(_fail, group, error))
        else:
            self._deliver(partial(_answer, group, results))

    def _next(self) -> list[tuple[_Item, Any]]:
        if seconds := self._linger(len(self._waiting)):
            time.sleep(seconds)
        with self._lock:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST))]
            self._is_running = bool(group)
        return group


def _answer(group: Sequence[tuple[Any, Any]], results: Sequence[Any]) -> None:
    for (_, waiter), result in zip(group, results, strict=True):
        if not waiter.done():
            waiter.set_result(result)


def _fail(group: Sequence[tuple[Any, Any]], error: StoreError) -> None:
    for _, waiter in group:
        if not waiter.done():
            waiter.set_exception(error)


class Inbox:
    """Accepts dumps for a store from any thread or process; see `Warehouse.drain`.

    The inbox does not lock the store. Use it as a context manager, or call `close`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = LogWriter(folder)
        self._writing = Lock()
        self._group = GroupCommit(str(folder), self._write)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Inbox:
        """The inbox of the store in a directory.

        Raises:
            StoreError: The store does not exist, or cannot be written.
        """
        store = Path(path)
        if not (os.path.exists(store / FILE_NAME) or os.path.isdir(store / ARCHIVE_FOLDER)):
            problem = "no store here; create one with 'tracehouse ingest PATHS...'"
            raise StoreError(str(store), problem)
        folder = store / INBOX_FOLDER
        with write_errors(str(folder), problem="cannot be created"):
            folder.mkdir(mode=store.stat().st_mode & 0o777, exist_ok=True)
            sync_path(store)
        return cls(folder)

    def accept(self, dump: Dump) -> str:
        """Accept a dump; when this returns, the dump is on disk and a drain will ingest it.

        Dumps that several threads submit while the disk is busy are written together.

        Returns:
            The dump's SHA-256.

        Raises:
            StoreError: The dump was not accepted, for example because the disk is full.
            SourceError: The dump or a companion cannot be read.
            ManifestError: The dump has no manifest.
        """
        delivery = pack_delivery(dump)
        waiter: Future[str] = Future()
        if self._group.join(delivery, waiter):
            self._group.run()
        return waiter.result()

    def accept_all(self, deliveries: Sequence[Delivery]) -> None:
        """Accept packed dumps; when this returns, all of them are on disk.

        Raises:
            StoreError: No dump was accepted, for example because the disk is full.
        """
        with self._writing:
            self._writer.append(deliveries)

    def spool(self) -> Spool:
        """A spool for a file that arrives in pieces, to be closed."""
        return Spool(self._folder)

    def _write(self, deliveries: Sequence[Delivery]) -> list[str]:
        self.accept_all(deliveries)
        return [one.sha256 for one in deliveries]

    def close(self) -> None:
        """Close the log; the next delivery would begin another."""
        with self._writing:
            self._writer.close()

    def __enter__(self) -> Inbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FoundService(NamedTuple):
    """The service that keeps a store open: its URL, and the key with which it knows the owner."""

    url: str
    key: str


@contextmanager
def mark_served(store: Path) -> Iterator[Callable[[FoundService], None]]:
    """Mark a store as kept open by a service until the body ends.

    Yields a function that writes the service's URL and key into the mark, which only the store's
    owner can read, and raises StoreError if it cannot be written.

    Raises:
        StoreError: The mark cannot be created.
    """
    place = str(store / _MARK)
    with write_errors(place):
        file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def announce(service: FoundService) -> None:
        text = json.dumps(service._asdict()).encode()
        with write_errors(place):
            os.fchmod(file, 0o600)
            os.pwrite(file, text, 0)
            os.ftruncate(file, len(text))

    try:
        with write_errors(place):
            lock(file)
            _erase(file)
        yield announce
    finally:
        os.close(file)


def _erase(file: int) -> None:
    """Erase what another service announced, but keep its room on a full disk where possible."""
    try:
        os.pwrite(file, b" " * os.fstat(file).st_size, 0)
    except OSError:  # on a full disk that copies what is overwritten
        os.ftruncate(file, 0)


def find_service(store: Path) -> FoundService | None:
    """The service that keeps a store open; None if there is none, or its mark cannot be read.

    'tracehouse watch' keeps a store open, too, but answers no other programs.
    """
    if not is_served(store):
        return None
    try:
        return FoundService(**json.loads((store / _MARK).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def is_served(store: Path) -> bool:
    """Whether a service keeps a store open; False if its mark cannot be read."""
    try:
        file = os.open(store / _MARK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(file, is_shared=True)
    finally:
        os.close(file)


def hand_over(store: Path, dumps: Iterable[Dump]) -> IngestSummary:
    """Submit dumps to a store's inbox; the summary has files, bytes and refusals.

    Raises:
        StoreError: The inbox cannot be written; earlier dumps are safe.
    """
    summary, refused = IngestSummary(), list[Refusal]()
    with Inbox.open(store) as inbox:
        packed = _packed(dumps, refused)
        for group in batches(packed, attrgetter("byte_count"), _GROUP_BYTES):
            inbox.accept_all(group)
            byte_count = sum(one.byte_count for one in group)
            summary += IngestSummary(len(group), byte_count=byte_count)
    return summary + IngestSummary(len(refused), refused=tuple(refused))


def _packed(dumps: Iterable[Dump], refused: list[Refusal]) -> Iterator[Delivery]:
    """The dumps that can be read; refusals of the others are appended to the list."""
    for dump in dumps:
        try:
            yield pack_delivery(dump)
        except (ManifestError, SourceError) as error:
            refused.append(Refusal.of_error(dump.name, error))
