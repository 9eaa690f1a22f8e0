"""The nightly report inside the site: its verdict, alerts and plots."""

from __future__ import annotations

from cli.serve.access.pools import need_all_pools
from cli.serve.page.site import PageRequest, Parts, link
from queries.report.html import body_parts
from queries.report.nightly import nightly_report
from queries.report.settings import read_settings


def regressions(request: PageRequest) -> Parts:
    """The report of the build in the address (head=), else of the last build."""
    need_all_pools(request.bearer, "this view")
    builds = request.build_order()
    if not builds:
        return {"title": "Regressions", "empty": "No dumps yet: upload some."}
    settings = read_settings(request.config)
    report = nightly_report(request.store, settings, head=request.address.get("head") or None)
    return {
        **body_parts(report, lambda group: link("/explain", group=group.id, head=report.head)),
        "template": "regressions",
        "title": f"Regressions: {report.head}",
        "heads": [
            (link("/regressions", head=build), build, build == report.head)
            for build in builds[:-31:-1]
        ],
        "download": link("/v1/report", head=report.head),
    }
