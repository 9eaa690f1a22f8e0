"""The addresses of the site."""

from __future__ import annotations

from starlette.routing import Route

from tracehouse.cli.serve.changes import Counts
from tracehouse.cli.serve.page import (
    comparison,
    dumps,
    explain,
    explore,
    feed,
    fleet,
    history,
    notes,
    regressions,
    timelines,
)
from tracehouse.cli.serve.page.assets import SCRIPTS, mark, script, style
from tracehouse.cli.serve.page.charts import chart_file
from tracehouse.cli.serve.page.login import login, logout
from tracehouse.cli.serve.page.site import help_page, view
from tracehouse.cli.serve.page.sql_box import sql_box
from tracehouse.cli.serve.page.triage import triage, write_note

VIEWS = {
    "/": view(fleet.fleet, *fleet.FIELDS, news=Counts._fields),
    "/compare": view(comparison.comparison, *comparison.FIELDS, builds=comparison.BUILDS),
    "/timelines": view(timelines.timelines, *timelines.FIELDS, builds=comparison.BUILDS),
    "/explore": view(explore.questions, is_filtered=False, news=()),
    "/explore/dump/{number}": view(explore.explore_dump, "run", is_filtered=False),
    "/explore/{name}.svg": view(explore.explore_file, own=explore.filters_of),
    "/explore/{name}": view(explore.explore, own=explore.filters_of),
    "/history": view(history.history, *history.FIELDS),
    "/history.svg": view(chart_file(history.history), *history.FIELDS),
    "/regressions": view(
        regressions.regressions,
        *regressions.FIELDS,
        builds=regressions.BUILDS,
        is_filtered=False,
        news=("nights", "decisions"),
    ),
    "/explain": view(
        explain.explain, "group", "head", builds=explain.BUILDS, is_filtered=False, news=()
    ),
    "/notes/{note_id}": view(notes.open_note, is_filtered=False),
    "/dumps": view(dumps.dumps, *dumps.FIELDS),
    "/dumps/{sha256}/run.svg": view(chart_file(dumps.dump), *dumps.DUMP_FIELDS, is_filtered=False),
    "/dumps/{sha256}": view(dumps.dump, *dumps.DUMP_FIELDS, is_filtered=False, news=()),
    "/nights.atom": view(feed.feed, is_filtered=False),
}
ROUTES = (
    *(Route(path, handler, include_in_schema=False) for path, handler in VIEWS.items()),
    Route("/regressions", triage, methods=["POST"], include_in_schema=False),
    Route("/notes", write_note, methods=["POST"], include_in_schema=False),
    Route("/sql", sql_box, include_in_schema=False),
    Route("/help", help_page, include_in_schema=False),
    Route("/style.css", style, include_in_schema=False),
    Route("/mark.svg", mark, include_in_schema=False),
    *(Route(path, script, include_in_schema=False) for path in SCRIPTS),
    Route("/login", login, methods=["GET", "POST"], include_in_schema=False),
    Route("/logout", logout, methods=["POST"], include_in_schema=False),
)
