"""Queries of the live store, limited in number and time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from starlette.requests import Request

from tracehouse.cli.serve.access.authorization import check_data
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import (
    ConcurrencyLimit,
    stopping_without_client,
    wait_for_end,
)
from tracehouse.cli.serve.nights import Judging
from tracehouse.cli.serve.service import Service
from tracehouse.warehouse.errors import LongQuestionError, SlowAnswerError
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

_Answer = TypeVar("_Answer")


async def await_indexed(service: Service, seconds: float) -> None:
    """Wait until the dumps that are accepted now are indexed; an error of the store is passed on.

    Raises:
        Problem: 503 if they are not indexed after these seconds.
    """
    consumer = service.consumer
    if count := consumer.known.backlog_dumps:
        indexed = consumer.perform(lambda: None, is_snapshot_needed=False)
        await wait_for_end(indexed, seconds)
        if not indexed.done():
            detail = f"{count:,} dumps wait to be indexed: ask again in a minute"
            raise Problem(503, "indexing", detail, retry_after=15)
        indexed.result()


async def query_night(
    request: Request,
    answer: Callable[[Store, JudgedNight | None], _Answer],
    *,
    seconds: float,
) -> _Answer:
    """Like `query_store`, but waits for a night that the answer needs, in no thread.

    The function is called once more with the night when that is judged; errors are passed on.

    Raises:
        Judging: It is not judged after these seconds.
    """
    try:
        return await query_store(request, lambda reader: answer(reader, None))
    except Judging as judging:
        await wait_for_end(judging.night, seconds)
        if not judging.night.done():
            raise
        night = judging.night.result()
    return await query_store(request, lambda reader: answer(reader, night))


async def query_store(request: Request, answer: Callable[[Store], _Answer]) -> _Answer:
    """Call a function with the live store, in a thread, and stop it if the client goes away.

    Of a client that is limited to device pools, the function sees nothing but these pools.

    Raises:
        Problem: 429 if too many requests wait; 504 if the answer takes too long, 422 if the first
            portions show that it would; 404 if the client's pools have no devices.
    """
    service: Service = request.app.state.service
    limit: ConcurrencyLimit = request.app.state.store_limit
    pools, stop = request.state.bearer.pools, Event()

    def run_query() -> _Answer:
        with (
            service.consumer.memory.raise_limit(service.settings.query_bytes),
            service.reader(pools) as reader,
            reader.within(service.settings.query_seconds, stop),
        ):
            if pools is not None:
                check_data(reader, pools)
            return answer(reader)

    try:
        async with stopping_without_client(request, stop.set):
            return await limit.run(run_query)
    except SlowAnswerError as error:
        raise Problem(504, "deadline", str(error)) from error
    except LongQuestionError as error:
        raise Problem(422, "long_question", str(error)) from error
