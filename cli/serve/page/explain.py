"""The explanation of an alert inside the site."""

from __future__ import annotations

from typing import Any

from tracehouse.cli.serve.access.authorization import need_all_pools
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import link
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.explain.html import body_parts
from tracehouse.queries.report.content import Group, Report
from tracehouse.queries.report.night import find_group
from tracehouse.queries.report.stored_nights import NightKey

BUILDS = {"head": "the last build"}


def explain(request: PageRequest) -> dict[str, Any]:
    """What differs between the two builds of the alert in the address (group=).

    Raises:
        Problem: 400 if the address names no alert.
    """
    need_all_pools(request.bearer, "this view")
    report, group = find_alert(request)
    return {
        **body_parts(explain_group(request.store, report, group.id)),
        "template": "explain",
        "alerts": link("/regressions", head=report.head),
        "download": link("/v1/explain", group=group.id, head=report.head, format="html"),
    }


def find_alert(request: PageRequest) -> tuple[Report, Group]:
    """The report and the alert in the address (head=, group=).

    Raises:
        Problem: 400 if the address names no alert.
    """
    group, head = (request.fields.get(name) for name in ("group", "head"))
    if not group:
        raise Problem(400, "group", "name an alert: group=ID, as /regressions lists them")
    key = NightKey.of(request.store, request.nights.settings, head)
    stored = request.nights.stored(request.store, key)
    if stored and group in {one.id for one in stored.report.groups}:
        report = stored.report
    else:
        report = request.nights.report(request.store, key, request.judged)
    return report, find_group(report.groups, group, report.head, "explain")
