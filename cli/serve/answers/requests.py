"""What a request asks of queries and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Self

from tracehouse.cli.serve.access.authorization import OF_ALL, choose_pools
from tracehouse.cli.serve.http.negotiation import ALL, Page
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.nights import Nights
from tracehouse.queries.answers import stream_answer
from tracehouse.queries.formats import Rows
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.nightly import NightKey
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.store import Store

Params = Mapping[str, str | Sequence[str]]


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
            raise Problem(403, "pool", f"the query {self.header.name} {OF_ALL}")

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
