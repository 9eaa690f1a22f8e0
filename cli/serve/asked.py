"""A canned query as a bearer asks it, who may be limited to some device pools."""

from __future__ import annotations

from collections.abc import Mapping
from glob import escape
from http import HTTPStatus
from typing import NamedTuple

import pyarrow as pa

from cli.serve.access import Bearer
from cli.serve.problems import Problem
from queries.computed import COMPUTED, answer_computed
from queries.report.settings import Settings
from warehouse.catalogue.header import Header
from warehouse.catalogue.queries import find_query
from warehouse.errors import ParameterError
from warehouse.store import Warehouse

_POOLS = "SELECT DISTINCT pool FROM devices WHERE pool IS NOT NULL"
_OF_ALL = "tells of all device pools, and the token is limited to some"

Params = Mapping[str, str | list[str]]


class AskedQuery(NamedTuple):
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
        """Pass if the bearer may ask it.

        Raises:
            Problem: 403; it tells of pools that are not theirs.
        """
        if self.pools is None:
            return
        if "pool" not in {parameter.name for parameter in self.header.params}:
            detail = f"the query {self.header.name} {_OF_ALL}"
            raise Problem(HTTPStatus.FORBIDDEN, "pool", detail)
        if not self.pools.issuperset(self._given_pools()):
            detail = f"pool: the token is limited to {', '.join(sorted(self.pools))}"
            raise Problem(HTTPStatus.FORBIDDEN, "pool", detail)

    def answer(self, reader: Warehouse, settings: Settings) -> pa.Table:
        """Its rows.

        Raises:
            Problem: 400; names that are none are told without those that there are, to a bearer
                who may not know them.
        """
        name, params = self.header.name, self.params
        if name in COMPUTED:
            return answer_computed(reader, name, params, settings)
        if self.pools is None:
            return reader.query(name, **params)
        there = set(reader.sql(_POOLS)["pool"].to_pylist())
        wanted = self._given_pools() or sorted(self.pools & there or self.pools)
        try:
            return reader.query(name, **{**params, "pool": [escape(pool) for pool in wanted]})
        except ParameterError as error:
            detail = str(error).partition("; ")[0]
            raise Problem(HTTPStatus.BAD_REQUEST, "refused", detail) from error

    def _given_pools(self) -> list[str]:
        given = self.params.get("pool", [])
        return [given] if isinstance(given, str) else given


def find_header(name: str) -> Header:
    """The header of a canned query or computed one; UnknownQueryError if there is none."""
    return COMPUTED[name] if name in COMPUTED else find_query(name).header


def need_all_pools(bearer: Bearer, what: str) -> None:
    """Pass if a bearer is not limited to some pools.

    Raises:
        Problem: 403; they are.
    """
    if bearer.pools is not None:
        raise Problem(HTTPStatus.FORBIDDEN, "pool", f"{what} {_OF_ALL}")
