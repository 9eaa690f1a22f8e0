"""The nightly report inside the site: its own verdict, alerts and plots."""

from __future__ import annotations

from typing import Any

from cli.serve.access.pools import need_all_pools
from cli.serve.page.fleet import build_order
from cli.serve.page.site import Visit, link, view
from queries.report.html import body_parts
from queries.report.nightly import nightly_report
from queries.report.settings import read_settings


@view
def regressions(visit: Visit) -> tuple[str, dict[str, Any]]:
    """The report as of a build of the address (head=), else of the last."""
    need_all_pools(visit.bearer, "this view")
    builds = build_order(visit)
    if not builds:
        empty = "Nothing is recorded here yet: upload dumps."
        return "tables.html.jinja", {"title": "Regressions", "empty": empty}
    settings = read_settings(visit.request.app.state.service.config)
    report = nightly_report(visit.store, settings, head=visit.first("head") or None)
    shown = builds[-30:][::-1]
    parts = body_parts(report)
    return "regressions.html.jinja", {
        **parts,
        "title": f"Regressions: {report.head}",
        "heads": [
            (link("/regressions", head=build), build, build == report.head) for build in shown
        ],
        "download": link("/v1/report", head=report.head),
    }
