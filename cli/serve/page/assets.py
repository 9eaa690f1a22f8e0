"""The style sheet and the scripts of the site; uPlot draws charts, and static/uplot is its own."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.serve.page.site import page_template
from tracehouse.cli.serve.page.timeline import KINDS
from tracehouse.queries.report.line_chart import COLOURS

SCRIPTS = {  # by address
    "/changes.js": "changes.js",
    "/charts.js": "charts.js",
    "/page.js": "page.js",
    "/sql.js": "sql.js",
    "/uplot.js": "uplot/uPlot.iife.min.js",
}
_STATIC = files("tracehouse.cli.serve.page") / "static"
_KEPT = {"Cache-Control": "max-age=300"}


def style(_: Request) -> Response:
    """The style sheet of reports, of the site and of its charts."""
    text = page_template("site.css").render(colours=COLOURS, kinds=KINDS) + _read(
        "uplot/uPlot.min.css"
    )
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
