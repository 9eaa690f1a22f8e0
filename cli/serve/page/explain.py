"""The explanation of an alert inside the site."""

from __future__ import annotations

from cli.serve.access.pools import need_all_pools
from cli.serve.http.problems import Problem
from cli.serve.page.site import PageRequest, Parts, link
from queries.explain.explanation import explain_group
from queries.explain.html import body_parts
from queries.report.settings import read_settings


def explain(request: PageRequest) -> Parts:
    """What differs between the two builds of the alert in the address (group=).

    Raises:
        Problem: 400 if the address names no alert.
    """
    need_all_pools(request.bearer, "this view")
    group, head = (request.address.get(name) or None for name in ("group", "head"))
    if group is None:
        raise Problem(400, "group", "name an alert: group=ID, as /regressions lists them")
    made = explain_group(request.store, group, read_settings(request.config), head=head)
    return {
        **body_parts(made),
        "template": "explain",
        "alerts": link("/regressions", head=made.as_of),
        "download": link("/v1/explain", group=group, head=made.as_of, format="html"),
    }
