"""The addresses of the site; its style sheet, its scripts and the login."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tracehouse.cli.serve.access.authorization import COOKIE, Unauthorized, check_origin
from tracehouse.cli.serve.changes import Counts
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page import alerts, comparison, dumps, explore, history, tonight
from tracehouse.cli.serve.page.charts import chart_file
from tracehouse.cli.serve.page.page_request import read_form
from tracehouse.cli.serve.page.site import help_page, page_template, show, view
from tracehouse.cli.serve.page.sql_box import sql_box

SCRIPTS = {  # by address
    "/changes.js": "changes.js",
    "/charts.js": "charts.js",
    "/page.js": "page.js",
    "/sql.js": "sql.js",
    "/uplot.js": "uplot/uPlot.iife.min.js",
}
_STATIC = files("tracehouse.cli.serve.page") / "static"
_KEPT = {"Cache-Control": "max-age=300"}
_SECONDS = 30 * 24 * 3600  # a session


def style(_: Request) -> Response:
    """The style sheet of reports, of the site and of its charts."""
    text = page_template("site.css").render() + _read("uplot/uPlot.min.css")
    return Response(text, media_type="text/css", headers=_KEPT)


def script(request: Request) -> Response:
    """A script of the site."""
    text = _read(SCRIPTS[request.url.path])
    return Response(text, media_type="text/javascript", headers=_KEPT)


def mark(_: Request) -> Response:
    """The mark of the project."""
    return Response(_read("mark.svg"), media_type="image/svg+xml", headers=_KEPT)


def _read(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


async def login(request: Request) -> Response:
    """The login form, or the answer to it: a cookie with its `token`, and the way to its `next`."""
    if request.method != "POST":
        return _show_form(request, request.query_params.get("next", "/"))
    check_origin(request, is_cookie=False)
    form = await read_form(request, "token=SECRET")
    place, token = form.get("next", "/"), form.get("token", "").strip()
    try:
        request.state.bearer = request.app.state.service.access.bearer_of(token)
    except Unauthorized as problem:
        request.state.reason = problem.reason
        return _show_form(request, place, problem)
    answer = RedirectResponse(_own_place(place), 303)
    answer.set_cookie(
        COOKIE,
        token,
        max_age=_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


async def logout(request: Request) -> Response:
    """Delete the cookie."""
    check_origin(request, is_cookie=False)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _show_form(request: Request, place: str, refusal: Problem | None = None) -> Response:
    parts: dict[str, Any] = {"title": "Sign in", "place": place, "refusal": refusal}
    return show(request, "login", parts, status=refusal.status_code if refusal else 200)


def _own_place(path: str) -> str:
    r"""The path, if it is in this site: to browsers, //host and /\host are other sites."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own else "/"


VIEWS = {
    "/": view(tonight.fleet, *tonight.FIELDS, news=Counts._fields),
    "/compare": view(comparison.comparison, *comparison.FIELDS, builds=comparison.BUILDS),
    "/timelines": view(
        comparison.timelines, *comparison.TIMELINES_FIELDS, builds=comparison.BUILDS
    ),
    "/explore": view(explore.questions, is_filtered=False, news=()),
    "/explore/{name}.svg": view(explore.explore_file, own=explore.filters_of),
    "/explore/{name}": view(explore.explore, own=explore.filters_of),
    "/regressions": view(
        alerts.regressions,
        *alerts.FIELDS,
        builds=alerts.BUILDS,
        is_filtered=False,
        news=("nights", "decisions"),
    ),
    "/explain": view(
        alerts.explain, "group", "head", builds=alerts.EXPLAINED, is_filtered=False, news=()
    ),
    "/notes/{note_id}": view(history.open_note, is_filtered=False),
    "/dumps": view(dumps.dumps, *dumps.FIELDS),
    "/dumps/{sha256}/run.svg": view(chart_file(dumps.dump), *dumps.DUMP_FIELDS, is_filtered=False),
    "/dumps/{sha256}": view(dumps.dump, *dumps.DUMP_FIELDS, is_filtered=False, news=()),
    "/nights.atom": view(alerts.feed, is_filtered=False),
}
ROUTES = (
    *(Route(path, handler, include_in_schema=False) for path, handler in VIEWS.items()),
    Route("/regressions", alerts.triage, methods=["POST"], include_in_schema=False),
    Route("/notes", alerts.write_note, methods=["POST"], include_in_schema=False),
    Route("/sql", sql_box, include_in_schema=False),
    Route("/help", help_page, include_in_schema=False),
    Route("/style.css", style, include_in_schema=False),
    Route("/mark.svg", mark, include_in_schema=False),
    *(Route(path, script, include_in_schema=False) for path in SCRIPTS),
    Route("/login", login, methods=["GET", "POST"], include_in_schema=False),
    Route("/logout", logout, methods=["POST"], include_in_schema=False),
)
