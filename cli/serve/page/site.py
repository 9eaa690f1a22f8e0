"""The frame of all views: access, the parameters of the address, the form and the navigation."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from http import HTTPStatus
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from jinja2 import Template
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tracehouse.cli.serve.access.authorization import Bearer, Scope, Unauthorized, cookie_secret
from tracehouse.cli.serve.answers.questions import query_night, query_store
from tracehouse.cli.serve.changes import Changes
from tracehouse.cli.serve.http.problems import Problem, as_problem
from tracehouse.cli.serve.http.responses import check_parameters
from tracehouse.cli.serve.nights import Judging
from tracehouse.cli.serve.page.cells import link
from tracehouse.cli.serve.page.filter_form import Form, Wanted, filter_form, plain_form
from tracehouse.cli.serve.page.page_request import DATES, NAMES, Address, PageRequest, TooManyRows
from tracehouse.cli.serve.service import Service
from tracehouse.ingest.errors import IngestError
from tracehouse.queries.explain.document import PACKAGE
from tracehouse.queries.printable import printable
from tracehouse.queries.report.figures import name_text
from tracehouse.queries.report.html import page_environment
from tracehouse.warehouse.errors import ParameterError, QueryError, WarehouseError
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

VIEWS = {
    "/": "Tonight",
    "/compare": "Compare",
    "/explore": "Explore",
    "/dumps": "Dumps",
    "/sql": "SQL",
}
_UNFILTERED = ("/", "/explore", "/sql")
_PARTS = {"/regressions": "/", "/explain": "/", "/timelines": "/compare"}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
WAIT_SECONDS = 1.0  # for a night that is not judged yet
_RELOAD_SECONDS = 3  # until a view that still waits for it loads again
Parts = dict[str, Any]  # the variables of a template
_HINT = re.compile("; (?:did you mean|there are) ")  # the form links the names that may be meant
ERRORS = (Problem, IngestError, QueryError, WarehouseError)


def view(
    make: Callable[[PageRequest], Parts | Response],
    *fields: str,
    builds: Mapping[str, str] = MappingProxyType({}),
    is_filtered: bool = True,
    own: Callable[[Address], Wanted] | None = None,
    news: Sequence[str] = ("dumps", "upkeep"),
) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a view: readers see it, others are sent to the login form.

    `fields` are its parameters besides filters, and `builds` those of them that name builds, with
    what each means without a value. `own` are the filters of an address, if they depend on it; the
    view then checks its parameters. `news` are fields of `Counts` that change what it shows.
    """
    filters = (*NAMES, *DATES) if is_filtered and own is None else ()
    wanted_of = own or (lambda _: Wanted(filters, builds))

    @wraps(make)
    async def answer(request: Request) -> Response:
        service: Service = request.app.state.service
        address = vars(read_address(request))

        def render(store: Store, judged: JudgedNight | None) -> Response:
            if own is None:
                check_parameters(request, (*filters, *fields))
            page = PageRequest(
                **address, store=store, bearer=bearer, nights=service.nights, judged=judged
            )
            parts = make(page)
            if isinstance(parts, Response):
                return parts
            if filters and "form" not in parts:
                parts["form"] = filter_form(page, wanted_of(page))
            return show(request, parts.pop("template", "tables"), frame | parts)

        try:
            bearer = service.access.need(request, Scope.READ)
        except ERRORS as error:
            return show_problem(request, error)
        changes: Changes = request.app.state.changes
        frame = {"news_since": changes.name(changes.count(bearer.pools)), "news": news}
        try:
            return await query_night(request, render, seconds=WAIT_SECONDS)
        except ERRORS as error:
            status, parts = problem_parts(request, error)
            parts["form"] = await _form_of_problem(request, bearer, wanted_of)
            shown = partial(show, request, "tables", frame | parts, status=status)
            return await run_in_threadpool(shown)

    return answer


def _judging_parts(build: str) -> Parts:
    """The template's variables of a view that waits for a night, and loads again."""
    text = f"The night of {name_text(build)} is being judged. This page loads again until it is."
    return {"title": "Not judged yet", "empty": text, "reload_seconds": _RELOAD_SECONDS}


async def _form_of_problem(
    request: Request, bearer: Bearer, wanted_of: Callable[[Address], Wanted]
) -> Form | None:
    """The form that narrows a view that failed; without suggestions if they fail, too."""
    address, service = read_address(request), request.app.state.service
    wanted = wanted_of(address)
    if not any(wanted):
        return None

    def render(store: Store) -> Form:
        page = PageRequest(**vars(address), store=store, bearer=bearer, nights=service.nights)
        return filter_form(page, wanted)

    try:
        return await query_store(request, render)
    except ERRORS:
        return plain_form(address, wanted)


def read_address(request: Request) -> Address:
    """The address of a request, without empty fields of forms."""
    given = request.query_params
    filters = {
        name: values
        for name in (*NAMES, *DATES)
        if (values := [value for value in given.getlist(name) if value])
    }
    fields = {name: value for name, value in given.items() if value and name not in filters}
    every = {name: found for name in given if (found := [v for v in given.getlist(name) if v])}
    return Address(path=request.url.path, fields=fields, filters=filters, given=every)


def to_login(request: Request) -> Response:
    """Send a browser to the login form, which leads back to the address."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(link("/login", next=wanted), 303)


def show(
    request: Request, template: str, parts: Mapping[str, Any], *, status: int = 200
) -> Response:
    """Render the template of a view as a page."""
    path, filters = request.url.path, read_address(request).filters
    place = _PARTS.get(path) or next((to for to in VIEWS if path.startswith(f"{to}/")), path)
    bearer = getattr(request.state, "bearer", None)
    consumer = request.app.state.service.consumer
    frame = {
        "nav": [
            (link(to, **({} if to in _UNFILTERED else filters)), name, to == place, to == path)
            for to, name in VIEWS.items()
            if bearer
        ],
        "version": version("tracehouse"),
        "address": str(request.base_url).rstrip("/"),
        "form": None,
        "obstacle": consumer.problem if bearer else None,
        "problem": "",
        "needs_filter": False,
        "news": (),
        "signed_in": bearer.name if bearer and cookie_secret(request.headers) else "",
    }
    text = page_template(f"{template}.html").render(frame | dict(parts))
    return HTMLResponse(text, status, HEADERS)


def page_template(name: str) -> Template:
    """A template of the site, or of reports."""
    environment = page_environment("tracehouse.cli.serve.page", PACKAGE)
    environment.filters["lines"] = escape_lines
    return environment.get_template(f"{name}.jinja")


def escape_lines(text: str) -> Markup:
    """A text of several lines, escaped; other texts of the templates have no line breaks."""
    return Markup("\n").join(printable(line) for line in text.split("\n"))


def show_problem(request: Request, error: Exception) -> Response:
    """The page of an error; without a valid token, the way to the login form."""
    if isinstance(error, Unauthorized):
        return to_login(request)
    status, parts = problem_parts(request, error)
    shown = show(request, "tables", parts, status=status)
    shown.headers.update(as_problem(error).headers or {})
    return shown


def problem_parts(request: Request, error: Exception) -> tuple[int, Parts]:
    """Status and template's variables of an error; the request's state keeps it for the logs.

    A view that still waits for a night is no error, and loads again. One with too many rows asks
    for a filter.
    """
    if isinstance(error, Judging):
        return HTTPStatus.OK, _judging_parts(error.build)
    if isinstance(error, TooManyRows):
        asked = {"title": "Choose a filter first", "lead": error.detail, "needs_filter": True}
        return HTTPStatus.OK, {**asked, "empty": ""}
    problem = as_problem(error)
    request.state.reason = problem.reason
    phrase = HTTPStatus(problem.status_code).phrase
    detail = problem.detail
    if isinstance(error, ParameterError):
        detail = f"{error.param}: {_HINT.split(error.problem)[0]}"
    title = VIEWS.get(request.url.path, phrase)
    is_sentence = detail.partition(" ")[0].isalpha()  # and no name of a parameter
    told = f"{detail[:1].upper()}{detail[1:]}" if is_sentence else detail
    end = "" if told.endswith((".", "?", "!")) else "."
    return problem.status_code, {"title": title, "problem": f"{told}{end}"}


async def help_page(request: Request) -> Response:
    """What the words and views mean; this needs no token, and shows nothing of a store."""
    with suppress(*ERRORS):
        request.app.state.service.access.need(request, Scope.READ)
    return await run_in_threadpool(show, request, "help", {"title": "Help"})
