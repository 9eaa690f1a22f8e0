"""A canned query as a bearer asks it, who may be limited to some device pools."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import pyarrow as pa

from cli.serve.access.pools import OF_ALL, hiding_names, pools_to_ask
from cli.serve.http.problems import Problem
from queries.computed import COMPUTED, answer_computed
from queries.report.settings import Settings
from warehouse.catalogue.header import Header
from warehouse.catalogue.queries import find_query
from warehouse.store import Warehouse

Params = Mapping[str, str | list[str]]


class QueryRequest(NamedTuple):
    """A canned query as it was asked.

    Attributes:
        header: The query's.
        params: Its parameters, as texts.
        pools: Device pools that the bearer is limited to; None for all.
    """

    header: Header
    params: Params
    pools: frozenset[str] | None

    def check_pools(self) -> None:
        """Pass if the bearer may ask it, of some pools at least.

        Raises:
            Problem: 403; it cannot be limited to pools.
        """
        names = {parameter.name for parameter in self.header.params}
        if self.pools is not None and "pool" not in names:
            detail = f"the query {self.header.name} {OF_ALL}"
            raise Problem(HTTPStatus.FORBIDDEN, "pool", detail)

    def answer(self, reader: Warehouse, settings: Settings) -> pa.Table:
        """Its rows.

        Raises:
            Problem: It asks of pools that are not the bearer's, or of names that are none.
        """
        name, params = self.header.name, self.params
        if name in COMPUTED:
            return answer_computed(reader, name, params, settings)
        if self.pools is not None:
            params = {**params, "pool": pools_to_ask(reader, self.pools, self._given_pools())}
        with hiding_names(self.pools):
            return reader.query(name, **settings.with_expected(self.header, params))

    def _given_pools(self) -> list[str]:
        given = self.params.get("pool", [])
        return [given] if isinstance(given, str) else given


def find_header(name: str) -> Header:
    """The header of a canned query or computed one; UnknownQueryError if there is none."""
    return COMPUTED[name] if name in COMPUTED else find_query(name).header
