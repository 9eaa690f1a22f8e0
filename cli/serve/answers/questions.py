"""Questions about the live store, from programs and from the page: few at a time, none for long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

from cli.serve.answers.limits import ConcurrencyLimit
from cli.serve.http.problems import Problem
from cli.serve.service import Service
from warehouse.errors import SlowAnswerError
from warehouse.store import Warehouse

_Answer = TypeVar("_Answer")
_WORKING, _WAITING = 4, 64  # answers at a time, and those that wait for their turn


class Questions:
    """All questions about the live store of a service take turns."""

    def __init__(self, service: Service) -> None:
        """Nobody asks yet."""
        self._service, self._turns = service, ConcurrencyLimit(_WORKING, _WAITING)

    async def ask(self, answer: Callable[[Warehouse], _Answer]) -> _Answer:
        """What `answer` makes of the live store, in a thread.

        Raises:
            Problem: 429 if too many ask; 504 if it took longer than it may.
        """
        return await self._turns.take(lambda: self._answer(answer))

    def _answer(self, answer: Callable[[Warehouse], _Answer]) -> _Answer:
        with asking(self._service) as reader:
            return answer(reader)


@contextmanager
def asking(service: Service) -> Iterator[Warehouse]:
    """The live store, for as long as an answer may take.

    Raises:
        Problem: 504; it took longer.
    """
    seconds = service.settings.query_seconds
    try:
        with (
            service.consumer.memory.raised(),
            service.reader() as reader,
            reader.within(seconds),
        ):
            yield reader
    except SlowAnswerError as error:
        raise Problem(HTTPStatus.GATEWAY_TIMEOUT, "deadline", str(error)) from error
