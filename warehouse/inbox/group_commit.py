"""Group commit: items that callers submit while the disk is busy are written together."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from tracehouse.warehouse.errors import StoreError

_MOST = 1000  # items in a group
_MOST_GROUPS = 8  # that a caller writes: all but the first are of others

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


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
