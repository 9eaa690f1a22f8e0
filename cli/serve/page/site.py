"""The frame of all views: access, filters in the address, tables and navigation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Template
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cli.serve.access.authorization import ANYONE, COOKIE, Bearer, Scope, Unauthorized
from cli.serve.access.pools import allowed_pools, hiding_names
from cli.serve.answers.questions import query_store
from cli.serve.http.problems import Problem, as_problem
from cli.serve.service import Service
from ingest.errors import IngestError
from queries.explain.html import PACKAGE
from queries.report.figures import count_text, place_text
from queries.report.html import page_environment
from warehouse.errors import QueryError, WarehouseError
from warehouse.store import Warehouse

VIEWS = {
    "/": "Fleet",
    "/latency": "Latency",
    "/operators": "Operators",
    "/regressions": "Regressions",
    "/dumps": "Dumps",
    "/errors": "Refused",
    "/sql": "SQL",
}
NAMES = ("device", "pool", "build", "model", "backend")  # filters
PLACE = ("device", "model", "backend")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MOST_ROWS = 50_000  # most rows that a view reads
_LONGEST_LINK = 8000
_BUILDS = "SELECT build FROM builds_in_order ORDER BY position"
Parts = dict[str, Any]  # the variables of a template


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a link, or a picture as SVG."""

    text: str
    href: str = ""
    picture: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a view; `numbers` are the columns that are aligned right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    numbers: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class PageRequest:
    """A request for a view.

    Attributes:
        store: The live store.
        address: Parameters of the address, those of the path included.
        filters: Values of the filters in the address.
        bearer: The client.
        config: Settings file of reports, if it was given.
    """

    store: Warehouse
    address: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, list[str]] = field(default_factory=dict)
    bearer: Bearer = ANYONE
    config: Path | None = None

    def chosen(self) -> dict[str, list[str]]:
        """The filters as parameters of queries; a Problem with the visitor's pools is passed on."""
        if self.bearer.pools is None:
            return dict(self.filters)
        pools = allowed_pools(self.store, self.bearer.pools, self.filters.get("pool", ()))
        return {**self.filters, "pool": pools}

    def rows(self, name: str, **params: object) -> list[dict[str, Any]]:
        """Rows of a canned query with the filters; a ParameterError is passed on.

        Raises:
            Problem: 413 if a page cannot show so many rows.
        """
        table = self.store.query(name, **{**self.chosen(), **params})
        if table.num_rows > MOST_ROWS:
            detail = (
                f"{table.num_rows:,} rows are too many for a page, which shows {MOST_ROWS:,}: "
                "filter by device, model or build"
            )
            raise Problem(413, "answer_too_long", detail)
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows

    def builds(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """The builds of rows, the newest last."""
        known = {row["build"] for row in rows}
        return [build for build in self.build_order() if build in known]

    def build_order(self) -> list[str]:
        """All builds of the store, the newest last."""
        builds: list[str] = self.store.sql(_BUILDS)["build"].to_pylist()
        return builds


def link(path: str, **params: object) -> str:
    """An address of the site; None and empty values are left out."""
    pairs = [(name, value) for name, value in params.items() if value not in (None, "", [])]
    query = urlencode(pairs, doseq=True)
    return quote(path) + (f"?{query}" if query and len(query) < _LONGEST_LINK else "")


def place_of(row: Mapping[str, Any]) -> str:
    """The device, model and backend of a row."""
    return place_text(**pick(row, *PLACE))


def pick(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Some fields of a row."""
    return {name: row[name] for name in names}


def more_text(count: int, noun: str, remedy: str = "use the filters") -> str:
    """A note that some things are not shown; empty if all are."""
    return f"{count_text(count, f'more {noun}')}: {remedy}." if count > 0 else ""


def date_text(when: datetime) -> str:
    """A time in UTC, to the minute."""
    return f"{when:%Y-%m-%d %H:%M}Z"


def view(make: Callable[[PageRequest], Parts]) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a view: readers see it, others are sent to the login form."""

    @wraps(make)
    async def answer(request: Request) -> Response:
        service: Service = request.app.state.service
        bearer, filters = ANYONE, _filters(request)

        def render(store: Warehouse) -> Response:
            address = {**request.query_params, **request.path_params}
            with hiding_names(bearer.pools):
                parts = make(PageRequest(store, address, filters, bearer, service.config))
            return show(request, parts.pop("template", "tables"), parts, filters=filters)

        try:
            bearer = service.access.need(request, Scope.READ)
            return await query_store(request, render)
        except Unauthorized:
            return to_login(request)
        except (Problem, IngestError, QueryError, WarehouseError) as error:
            return show_problem(request, error, "problem")

    return answer


def _filters(request: Request) -> dict[str, list[str]]:
    """The filters in the address, without empty fields of the form."""
    address = request.query_params
    given = {name: [value for value in address.getlist(name) if value] for name in NAMES}
    return {name: values for name, values in given.items() if values}


def to_login(request: Request) -> Response:
    """Send a browser to the login form, which leads back to the address."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(link("/login", next=wanted), 303)


def show(
    request: Request,
    template: str,
    parts: Mapping[str, Any],
    *,
    filters: Mapping[str, list[str]] | None = None,
    status: int = 200,
) -> Response:
    """Render the template of a view as a page."""
    filters = filters or {}
    path = request.url.path
    bearer = getattr(request.state, "bearer", ANYONE)
    frame = {
        "nav": [(link(to, **filters), name, to == path) for to, name in VIEWS.items()],
        "clear": link(path, **dict(parts.get("fields", ()))),
        "filters": filters,
        "filter_names": NAMES,
        "fields": (),
        "signed_in": bearer.name if COOKIE in request.cookies else "",
    }
    text = _template(f"{template}.html").render(frame | dict(parts))
    return HTMLResponse(text, status, HEADERS)


def style(_: Request) -> Response:
    """The style sheet of reports and of the site."""
    text = _template("site.css").render()
    return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=300"})


def _template(name: str) -> Template:
    return page_environment("cli.serve.page", PACKAGE).get_template(f"{name}.jinja")


def show_problem(
    request: Request, error: Exception, template: str, parts: Mapping[str, Any] | None = None
) -> Response:
    """Show an error in a template; the request's state keeps the reason for the logs."""
    problem = as_problem(error)
    request.state.reason = problem.reason
    title = HTTPStatus(problem.status_code).phrase
    shown = {"title": title, **(parts or {}), "problem": problem.detail}
    return show(request, template, shown, status=problem.status_code)
