"""What a view gets: the store, the filters and the parameters of its address, or of its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pyarrow as pa
from starlette.requests import Request

from tracehouse.cli.serve.access.authorization import ANYONE, Bearer, choose_pools
from tracehouse.cli.serve.http.endpoints import read_short
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.nights import Nights
from tracehouse.cli.serve.page.cells import Row, link
from tracehouse.warehouse.catalogue.queries import Query, find_query
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

NAMES = ("device", "pool", "build", "model", "backend")  # filters by name
DATES = ("since", "until")  # filters by the time of recording
MOST_ROWS = 50_000  # most rows that a view sorts
FORM_BYTES = 8 << 10  # 500 characters may be 6,000 bytes
MOST_FIELDS = 8


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address of a view: parameters that are filters, by name, and others."""

    path: str = "/"
    fields: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, list[str]] = field(default_factory=dict)
    given: Mapping[str, list[str]] = field(default_factory=dict)  # all of them
    unset: Mapping[str, str] = field(default_factory=dict)  # values that give up a default

    def here(self, **changes: object) -> str:
        """The address with other parameters; an empty one is left out."""
        changed = {
            name: value if value not in ("", [], None) else self.unset.get(name, "")
            for name, value in changes.items()
        }
        return link(self.path, **{**self.filters, **self.fields, **changed})


@dataclass(frozen=True, kw_only=True)
class PageRequest(Address):
    """A request for a view."""

    store: Store
    bearer: Bearer = ANYONE
    nights: Nights
    judged: JudgedNight | None = None  # that the request has waited for

    def chosen(self) -> dict[str, object]:
        """The filters as parameters of queries; a Problem with the visitor's pools is passed on."""
        dates = {name: self.filters[name][-1] for name in DATES if name in self.filters}
        names = {name: self.filters[name] for name in NAMES if name in self.filters}
        if self.bearer.pools is not None:
            named = self.filters.get("pool", ())
            names["pool"] = list(choose_pools(self.bearer.pools, named))
        return {**names, **dates}

    def table(self, name: str, **params: object) -> pa.Table:
        """Rows of a canned query, or of one of the page's own, with the filters.

        A ParameterError is passed on.

        Raises:
            TooManyRows: A page cannot show so many rows.
        """
        query = find_query(name, "page" if name.startswith("page_") else "queries")
        known = {parameter.name for parameter in query.header.params}
        chosen = {own: value for own, value in self.chosen().items() if own in known}
        return check_length(self.store.query(query, **chosen | params))

    def rows(self, name: str, **params: object) -> list[Row]:
        """The same rows as Python values."""
        found: list[Row] = self.table(name, **params).to_pylist()
        return found


class TooManyRows(Problem):
    """An answer is too long for a page, which then asks for a filter."""

    def __init__(self) -> None:
        """Say what to do."""
        detail = (
            f"The answer has more than {MOST_ROWS:,} rows, too many for a page: "
            "choose a device, a model or a build."
        )
        super().__init__(413, "answer_too_long", detail)


def check_length(table: pa.Table) -> pa.Table:
    """The table, if a page can show it.

    Raises:
        TooManyRows: It has too many rows.
    """
    if table.num_rows <= MOST_ROWS:
        return table
    raise TooManyRows


def page_query(name: str) -> Query:
    """A query of the page, which the API does not offer."""
    return find_query(name, "page")


async def read_form(request: Request, wanted: str) -> dict[str, str]:
    """The fields of a form; `wanted` says in an error what the form has.

    Raises:
        Problem: The body is not a form, or too long.
    """
    body = await read_short(request, most_bytes=FORM_BYTES)
    try:
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise Problem(400, "not_a_form", f"the form is malformed, wanted {wanted}") from error
    return {name: values[-1] for name, values in fields.items()}
