"""Requests for canned queries, from clients that may be limited to some device pools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tracehouse.cli.serve.access.pools import OF_ALL, choose_pools
from tracehouse.cli.serve.http.negotiation import ALL, Page
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.queries.answers import stream_answer
from tracehouse.queries.formats import Rows
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
