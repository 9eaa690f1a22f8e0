"""What a request asks of the live store, and how: limited in number and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import NamedTuple, Self, TypeVar

from starlette.requests import Request

from tracehouse.cli.serve.access.authorization import ALL_POOLS_ONLY, check_data, choose_pools
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import ALL, Page
from tracehouse.cli.serve.http.threads import (
    ConcurrencyLimit,
    stopping_without_client,
    wait_for_end,
)
from tracehouse.cli.serve.nights import Judging, Nights
from tracehouse.cli.serve.service import Service
from tracehouse.queries.answers import stream_answer
from tracehouse.queries.formats import Rows
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.nightly import NightKey
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.errors import LongQuestionError, SlowAnswerError
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

Params = Mapping[str, str | Sequence[str]]
_Answer = TypeVar("_Answer")


class QueryRequest(NamedTuple):
    """A request for a canned query."""

    header: Header
    params: Params
    pools: frozenset[str] | None

    def check_pools(self) -> None:
        """Check that the query can be limited to the client's pools.

        Raises:
            Problem: 403 if it cannot.
        """
        if self.pools is not None and all(one.name != "pool" for one in self.header.params):
            raise Problem(403, "pool", f"the query {self.header.name} {ALL_POOLS_ONLY}")

    @contextmanager
    def answer(self, reader: Store, settings: Settings, page: Page = ALL) -> Iterator[Rows]:
        """The rows of the query, at least those up to the page's end and one more.

        The reader shows the client's pools alone. A Problem with pools is passed on.
        """
        params: Mapping[str, object] = self.params
        if self.pools is not None:
            given = self.params.get("pool", [])
            named = [given] if isinstance(given, str) else given
            params = {**params, "pool": choose_pools(self.pools, named)}
        name, limit = self.header.name, page.limit
        most_rows = None if limit is None else page.offset + limit + 1
        with stream_answer(reader, name, params, settings, most_rows=most_rows) as rows:
            yield rows


class ReportRequest(NamedTuple):
    """The builds that a report is about.

    Attributes:
        head: The build; by default the last one.
        base: The build to compare with; empty for those before the head, night by night.
        branch: Branch of the last build; by default that of the settings.
    """

    head: str | None = None
    base: str = ""
    branch: str | None = None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """The builds in the parameters of an address.

        Raises:
            Problem: 400 if they name a head and a branch.
        """
        head, base, branch = (fields.get(name, "") for name in cls._fields)
        if head and branch:
            raise Problem(400, "branch", "branch: name either a head or a branch, not both")
        return cls(head or None, base, branch or None)

    def night(self, reader: Store, nights: Nights) -> NightKey | None:
        """The key of the night; None if two builds are compared.

        Raises:
            QueryError: The store has no such build.
        """
        settings = nights.settings.of_branch(self.branch)
        return None if self.base else NightKey.of(reader, settings, self.head)

    def compare(self, reader: Store, nights: Nights) -> Report:
        """The comparison of the head with the base.

        Raises:
            QueryError: The store has no such build.
        """
        settings = nights.settings.of_branch(self.branch)
        return compare_report(reader, settings, base=self.base, head=self.head)


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
