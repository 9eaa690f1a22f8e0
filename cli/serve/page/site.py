"""What all views share: who may see them, filters in the address, tables, the frame around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cli.serve.access import Scope
from cli.serve.problems import Problem, as_problem
from ingest.errors import IngestError
from queries.report.html import page_environment
from warehouse.errors import QueryError, WarehouseError

if TYPE_CHECKING:
    from cli.serve.service import Service
    from warehouse import Warehouse

VIEWS = {
    "/": "Fleet",
    "/latency": "Latency",
    "/operators": "Operators",
    "/regressions": "Regressions",
    "/dumps": "Dumps",
    "/errors": "Refused",
    "/sql": "SQL",
}
NAMES = ("device", "pool", "build", "model", "backend")  # what one can filter by
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_LONGEST_LINK = 8000
_Render = tuple[str, dict[str, Any]]  # a template, and what it shows


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a text, which may be a link, or a picture of ours."""

    text: str
    href: str = ""
    picture: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a view; `numbers` are the columns that stand right."""

    title: str
    columns: Sequence[str]
    rows: list[list[Cell]]
    numbers: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class Visit:
    """A request for a view.

    Attributes:
        request: The request.
        store: The store as it is now.
        filters: The names that its address asks for, of those in NAMES.
        pools: Device pools that the visitor is limited to; None for all.
    """

    request: Request
    store: Warehouse
    filters: Mapping[str, list[str]] = field(default_factory=dict)
    pools: frozenset[str] | None = None

    def first(self, name: str, default: str = "") -> str:
        """A value of the address; its first, if there are several."""
        return self.request.query_params.get(name, default)

    def chosen(self, *names: str) -> dict[str, list[str]]:
        """The filters, of these names or of all, as canned queries take them."""
        wanted = names or NAMES
        found = {name: values for name, values in self.filters.items() if name in wanted}
        if self.pools is not None:
            found["pool"] = [one for one in found.get("pool", self.pools) if one in self.pools]
        return found


def link(path: str, **params: object) -> str:
    """An address of the site; None and empty values are left out."""
    pairs = [(name, value) for name, value in params.items() if value not in (None, "", [])]
    query = urlencode(pairs, doseq=True)
    return quote(path) + (f"?{query}" if query and len(query) < _LONGEST_LINK else "")


def view(make: Callable[[Visit], _Render]) -> Callable[[Request], Response]:
    """The route of a view: whoever may read sees it, others are asked for a token."""

    @wraps(make)
    def answer(request: Request) -> Response:
        service: Service = request.app.state.service
        try:
            bearer = service.access.need(request, Scope.READ)
            filters = {name: request.query_params.getlist(name) for name in NAMES}
            given = {name: [v for v in values if v] for name, values in filters.items()}
            kept = {name: values for name, values in given.items() if values}
            with service.reader() as store:
                template, parts = make(Visit(request, store, kept, bearer.pools))
        except Problem as problem:
            if problem.status_code != HTTPStatus.UNAUTHORIZED:
                return _failed(request, problem)
            asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(link("/login", next=asked), HTTPStatus.SEE_OTHER)
        except (IngestError, QueryError, WarehouseError) as error:
            return _failed(request, as_problem(error))
        return show(request, template, parts, filters=kept)

    return answer


def show(
    request: Request,
    template: str,
    parts: Mapping[str, Any],
    *,
    filters: Mapping[str, list[str]] | None = None,
    status: int = HTTPStatus.OK,
) -> Response:
    """A view as a page."""
    filters = filters or {}
    path = request.url.path
    nav = [(link(to, **filters), name, to == path) for to, name in VIEWS.items()]
    frame = {"nav": nav, "path": path, "filters": filters, "filter_names": NAMES, "fields": ()}
    text = page_environment("cli.serve.page").get_template(template).render(**frame | dict(parts))
    return HTMLResponse(text, status, HEADERS)


def style(_: Request) -> Response:
    """The style sheet: that of reports, and what the site has besides."""
    text = page_environment("cli.serve.page").get_template("site.css.jinja").render()
    return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=300"})


def _failed(request: Request, problem: Problem) -> Response:
    title = HTTPStatus(problem.status_code).phrase
    parts = {"title": title, "problem": problem.detail}
    return show(request, "problem.html.jinja", parts, status=problem.status_code)
