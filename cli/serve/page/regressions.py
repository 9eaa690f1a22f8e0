"""The nightly report inside the site: its verdict, alerts and plots."""

from __future__ import annotations

from typing import Any

from cli.serve.access.pools import need_all_pools
from cli.serve.http.problems import Problem
from cli.serve.page.cells import link
from cli.serve.page.page_request import PageRequest
from cli.serve.page.triage import CHOICES, SCOPES
from queries.report.html import body_parts

_WAIT_SECONDS = 2.0  # for the judgement of a night, before the page says that it goes on
_RELOAD = 10  # seconds until such a page loads again


def regressions(request: PageRequest) -> dict[str, Any]:
    """The report of the build in the address (head=), else of the last build."""
    need_all_pools(request.bearer, "this view")
    builds = [row["build"] for row in request.rows("page_builds")[1:]]
    if not builds:
        return {"title": "Regressions", "empty": "No dumps yet: upload some."}
    head = request.fields.get("head")
    try:
        report = request.nights.report(request.store, head, seconds=_WAIT_SECONDS)
    except Problem as problem:
        return {"title": "Regressions", "empty": f"{problem.detail}.", "reload_seconds": _RELOAD}
    return {
        **body_parts(report),
        "template": "regressions",
        "title": f"Regressions: {report.head}",
        "heads": [
            (link("/regressions", head=build), build, build == report.head)
            for build in builds[:-31:-1]
        ],
        "why": "/explain",
        "triage": {} if request.bearer.scopes.isdisjoint(SCOPES) else CHOICES,
        "download": link("/v1/report", head=report.head),
    }
