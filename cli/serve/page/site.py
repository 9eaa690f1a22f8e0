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

from cli.serve.access.authorization import ANYBODY, COOKIE, Bearer, Scope, Unauthorized
from cli.serve.access.pools import hiding_names, pools_to_ask
from cli.serve.answers.questions import ask_store
from cli.serve.http.problems import Problem, as_problem
from ingest.errors import IngestError
from queries.report.html import page_environment
from warehouse.errors import QueryError, WarehouseError

if TYPE_CHECKING:
    from collections.abc import Awaitable

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
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
MOST_ROWS = 50_000  # that a view makes something of
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
        bearer: The visitor.
    """

    request: Request
    store: Warehouse
    filters: Mapping[str, list[str]] = field(default_factory=dict)
    bearer: Bearer = ANYBODY

    @property
    def pools(self) -> frozenset[str] | None:
        """Device pools that the visitor is limited to; None for all."""
        return self.bearer.pools

    def first(self, name: str, default: str = "") -> str:
        """A value of the address; its first, if there are several."""
        return self.request.query_params.get(name, default)

    def chosen(self) -> dict[str, list[str]]:
        """The filters, as canned queries take them.

        Raises:
            Problem: 403; the visitor is limited to other pools. Or 404: theirs have no device.
        """
        if self.pools is None:
            return dict(self.filters)
        asked = pools_to_ask(self.store, self.pools, self.filters.get("pool", ()))
        return {**self.filters, "pool": asked}

    def rows(self, name: str, **params: object) -> list[dict[str, Any]]:
        """Rows of a canned query about what the visitor chose.

        Raises:
            Problem: 413; they are too many for a page.
            ParameterError: A filter names what the store does not have.
        """
        table = self.store.query(name, **{**self.chosen(), **params})
        if table.num_rows > MOST_ROWS:
            detail = (
                f"{table.num_rows:,} rows are too many for a page, which takes {MOST_ROWS:,}: "
                "filter by device, model or build"
            )
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "answer_too_long", detail)
        found: list[dict[str, Any]] = table.to_pylist()
        return found


def link(path: str, **params: object) -> str:
    """An address of the site; None and empty values are left out."""
    pairs = [(name, value) for name, value in params.items() if value not in (None, "", [])]
    query = urlencode(pairs, doseq=True)
    return quote(path) + (f"?{query}" if query and len(query) < _LONGEST_LINK else "")


def view(make: Callable[[Visit], _Render]) -> Callable[[Request], Awaitable[Response]]:
    """The route of a view: whoever may read sees it, others are asked for a token."""

    @wraps(make)
    async def answer(request: Request) -> Response:
        service: Service = request.app.state.service
        bearer, filters = ANYBODY, _filters(request)

        def shown(store: Warehouse) -> Response:
            with hiding_names(bearer.pools):
                template, parts = make(Visit(request, store, filters, bearer))
            return show(request, template, parts, filters=filters)

        try:
            bearer = service.access.need(request, Scope.READ)
            return await ask_store(request, shown)
        except Unauthorized:
            return to_login(request)
        except (Problem, IngestError, QueryError, WarehouseError) as error:
            return _failed(request, as_problem(error))

    return answer


def _filters(request: Request) -> dict[str, list[str]]:
    """The names that an address asks for; empty fields of the form are none."""
    given = {name: request.query_params.getlist(name) for name in NAMES}
    kept = {name: [value for value in values if value] for name, values in given.items()}
    return {name: values for name, values in kept.items() if values}


def to_login(request: Request) -> Response:
    """The way to the form that asks for a token, and from there back."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(link("/login", next=asked), HTTPStatus.SEE_OTHER)


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
    clear = link(path, **dict(parts.get("fields", ())))
    bearer = getattr(request.state, "bearer", ANYBODY)
    frame = {
        "nav": nav,
        "clear": clear,
        "filters": filters,
        "filter_names": NAMES,
        "fields": (),
        "signed_in": bearer.name if COOKIE in request.cookies else "",
    }
    text = page_environment("cli.serve.page").get_template(template).render(**frame | dict(parts))
    return HTMLResponse(text, status, HEADERS)


def style(_: Request) -> Response:
    """The style sheet: that of reports, and what the site has besides."""
    text = page_environment("cli.serve.page").get_template("site.css.jinja").render()
    return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=300"})


def _failed(request: Request, problem: Problem) -> Response:
    request.state.reason = problem.reason  # for the logs
    title = HTTPStatus(problem.status_code).phrase
    parts = {"title": title, "problem": problem.detail}
    return show(request, "problem.html.jinja", parts, status=problem.status_code)
