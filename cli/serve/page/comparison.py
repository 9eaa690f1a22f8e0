"""The view that compares two builds: the changes of runs and operators with their verdicts."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from typing import Any

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import Row, link, pick
from tracehouse.cli.serve.page.filter_form import Wanted, filter_form
from tracehouse.cli.serve.page.page_request import DATES, NAMES, PageRequest
from tracehouse.queries.comparison import describe_pair
from tracehouse.queries.report.comparable import find_obstacle
from tracehouse.queries.report.figures import name_text
from tracehouse.queries.report.method_breakdowns import PairBreakdowns
from tracehouse.queries.report.tables import list_sums

BUILDS = {"base": "the one before", "head": "the last build"}
FIELDS = tuple(BUILDS)
_FORMS = (("CSV", "csv"), ("JSON", "json"), ("Arrow", "arrow"))


def comparison(request: PageRequest) -> dict[str, Any]:
    """Two builds, by default the last two: their runs and operators, the dearest change first.

    Raises:
        Problem: 400 if the two are the same build.
    """
    base, head = choose_builds(request)
    if not base or not head:
        empty = "Two builds are needed here: name them, or widen the filters."
        return {"title": "Compare", "empty": empty}
    if base == head:
        raise Problem(400, "base", f"base and head are both {name_text(base)}: name two builds")
    at = replace(request, fields={**request.fields, "base": base, "head": head})
    rows = request.rows("comparison", base=base, head=head)
    obstacle = find_obstacle(request.store, rows, base=base, head=head)
    href = partial(_history, request)
    found = describe_pair(rows, base=base, head=head, obstacle=obstacle, href=href)
    chosen = {name: values for name, values in request.filters.items() if name != "build"}
    file = partial(link, "/v1/queries/comparison", base=base, head=head, **chosen)
    pair = PairBreakdowns(request.store, rows, base=base, head=head)
    return {
        "template": "comparison_view",
        "title": found.sentence,
        "form": filter_form(at, Wanted((*NAMES, *DATES), BUILDS)),
        "found": found,
        "swap": at.here(base=head, head=base),
        "timelines": link("/timelines", base=base, head=head, **chosen),
        "sums": list_sums(pair.of_changed_methods()),
        "files": [(name, file(format=form)) for name, form in _FORMS],
        "command": _command(base, head, chosen),
    }


def choose_builds(request: PageRequest) -> tuple[str, str]:
    """Base and head in the address, by default the last two; empty if there are too few builds."""
    builds = [row["build"] for row in request.rows("page_builds")[1:]]
    head = request.fields.get("head") or (builds[-1] if builds else "")
    earlier = builds[: builds.index(head)] if head in builds else builds
    return request.fields.get("base") or (earlier[-1] if earlier else ""), head


def _history(request: PageRequest, row: Row) -> str:
    """The address of an operator over the builds; empty for what several operators add up to."""
    if not row["event_name"] or row["level"] not in ("operator", "method", "delegate"):
        return ""
    operator = pick(row, "delegate_id", "ordinal", "model", "backend")
    places = {name: row[name] or request.filters.get(name) for name in ("device", "pool")}
    return link("/history", event=row["event_name"], **operator, **places)


def _command(base: str, head: str, chosen: dict[str, list[str]]) -> str:
    given = [("", base), ("", head), *((n, one) for n, values in chosen.items() for one in values)]
    words = [f"--{name} {shlex.quote(one)}" if name else shlex.quote(one) for name, one in given]
    return " ".join(["tracehouse compare", *words])
