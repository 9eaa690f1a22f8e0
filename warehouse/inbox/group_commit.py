"""Group commit: items that callers hand in while the disk is busy are written together."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from warehouse.errors import StoreError

_MOST = 1000  # items that are written together

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class GroupCommit(Generic[_Item, _Result]):
    """Writes items of any thread in groups: the first caller writes while others wait.

    A waiter is a future, of threads or of asyncio, which gets an item's result or the error of its
    group.
    """

    def __init__(
        self,
        place: str,
        write: Callable[[Sequence[_Item]], Sequence[_Result]],
        *,
        deliver: Callable[[Callable[[], None]], object] = lambda answer: answer(),
        linger: Callable[[int], float] = lambda _: 0.0,
    ) -> None:
        """Take what writes a group.

        Args:
            place: What errors name.
            write: Writes items, and returns their results; a StoreError is every item's.
            deliver: Calls the function it is given, in the thread that waiters belong to.
            linger: Seconds for which others may still join, given the number of items that wait.
        """
        self._place, self._write = place, write
        self._deliver, self._linger = deliver, linger
        self._waiting: deque[tuple[_Item, Any]] = deque()
        self._is_running, self._lock = False, threading.Lock()

    def join(self, item: _Item, waiter: Any) -> bool:
        """Hand in an item; True if the caller has to call `run`, for nobody else does."""
        with self._lock:
            self._waiting.append((item, waiter))
            is_first, self._is_running = not self._is_running, True
        return is_first

    def run(self) -> None:
        """Write what waits, group by group, until nothing does."""
        while group := self._next():
            try:
                results = self._write([item for item, _ in group])
            except StoreError as error:
                self._deliver(partial(_fail, group, error))
            except BaseException:  # an interrupt or a bug: those who wait must learn of it
                with self._lock:
                    group += self._waiting
                    self._waiting.clear()
                    self._is_running = False
                interrupted = StoreError(self._place, "interrupted; hand it over again")
                self._deliver(partial(_fail, group, interrupted))
                raise
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
