"""The report of a night, or of two builds, inside the site: its verdict, alerts and plots."""

from __future__ import annotations

from typing import Any

from tracehouse.cli.serve.access.authorization import need_all_pools
from tracehouse.cli.serve.answers.requests import ReportRequest
from tracehouse.cli.serve.page.cells import age_text, link
from tracehouse.cli.serve.page.last_night import describe_since
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.cli.serve.page.triage import CHOICES, SCOPES
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.html import body_parts
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.stored_nights import NightKey
from tracehouse.warehouse.regressions.judging import list_heads

BUILDS = {"head": "the last build", "base": "those before it, night by night"}
FIELDS = ReportRequest._fields


def regressions(request: PageRequest) -> dict[str, Any]:
    """The report of the build in the address (head=), else of the last one (of branch=).

    The report is the stored one, even if its data have changed since; the view says so. With base=,
    these two builds are compared.
    """
    need_all_pools(request.bearer, "this view")
    wanted = ReportRequest.of(request.fields)
    settings = request.nights.settings.of_branch(wanted.branch)
    builds = list_heads(request.store, settings.report.branch)
    if not builds and settings.report.branch is None:
        return {"title": "Regressions", "empty": "No dumps yet: upload some."}
    key, since = wanted.night(request.store, request.nights), ""
    if key:
        report, since = _read_night(request, key, None if wanted.head else settings)
    else:
        report = wanted.compare(request.store, request.nights)
    against = f" against {wanted.base}" if wanted.base else ""
    return {
        **body_parts(report),
        "template": "regressions",
        "title": f"Regressions: {report.head}{against}",
        "as_of": f"{report.head}{against}",
        "since": since,
        "heads": [
            (link("/regressions", head=build, base=wanted.base), build, build == report.head)
            for build in builds[:-31:-1]
        ],
        "why": "/explain" if key else "",
        "triage": CHOICES if key and not request.bearer.scopes.isdisjoint(SCOPES) else {},
        "download": link("/v1/report", head=report.head, base=wanted.base),
    }


def _read_night(request: PageRequest, key: NightKey, branch: Settings | None) -> tuple[Report, str]:
    """A stored night, or one that the request waited for; and what has changed since."""
    night = request.nights.stored(request.store, key, branch)
    if night is None:
        return request.nights.report(request.store, key, request.judged), ""
    since = describe_since(request.store, key, night)
    return night.report, since and f"Judged {age_text(night.judged_at)}. {since}"
