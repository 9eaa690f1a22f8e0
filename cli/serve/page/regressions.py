"""The report of a night, or of two builds, inside the site: its verdict, alerts and plots."""

from __future__ import annotations

from typing import Any

from cli.serve.access.pools import need_all_pools
from cli.serve.answers.report_request import ReportRequest
from cli.serve.http.problems import Problem
from cli.serve.page.cells import link
from cli.serve.page.page_request import PageRequest
from cli.serve.page.triage import CHOICES, SCOPES
from queries.report.html import body_parts
from warehouse.regressions.judging import list_heads

BUILDS = {"head": "the last build", "base": "those before it, night by night"}
FIELDS = ReportRequest._fields
_WAIT_SECONDS = 2.0  # for the judgement of a night, before the page says that it goes on
_RELOAD = 10  # seconds until such a page loads again


def regressions(request: PageRequest) -> dict[str, Any]:
    """The report of the build in the address (head=), else of the last one (of branch=).

    With base=, these two builds are compared.
    """
    need_all_pools(request.bearer, "this view")
    wanted = ReportRequest.of(request.fields)
    settings = request.nights.settings.of_branch(wanted.branch)
    builds = list_heads(request.store, settings.report.branch)
    if not builds and settings.report.branch is None:
        return {"title": "Regressions", "empty": "No dumps yet: upload some."}
    try:
        night = wanted.night(request.store, request.nights)
        report = wanted.make(request.store, request.nights, night, seconds=_WAIT_SECONDS)
    except Problem as problem:
        return {"title": "Regressions", "empty": f"{problem.detail}.", "reload_seconds": _RELOAD}
    is_night = not wanted.base
    against = "" if is_night else f" against {wanted.base}"
    return {
        **body_parts(report),
        "template": "regressions",
        "title": f"Regressions: {report.head}{against}",
        "as_of": f"{report.head}{against}",
        "heads": [
            (link("/regressions", head=build, base=wanted.base), build, build == report.head)
            for build in builds[:-31:-1]
        ],
        "why": "/explain" if is_night else "",
        "triage": CHOICES if is_night and not request.bearer.scopes.isdisjoint(SCOPES) else {},
        "download": link("/v1/report", head=report.head, base=wanted.base),
    }
