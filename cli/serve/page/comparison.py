"""The views of two builds: their changes with verdicts, and median runs on one time axis."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from typing import Any

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import PLACE, Row, history_link, link, pick
from tracehouse.cli.serve.page.charts import PART_FIELDS, Chart, read_part
from tracehouse.cli.serve.page.dumps import read_run, slices_of
from tracehouse.cli.serve.page.filter_form import Wanted, filter_form
from tracehouse.cli.serve.page.page_request import DATES, NAMES, PageRequest
from tracehouse.queries.comparison import describe_pair
from tracehouse.queries.report.breakdowns import PairBreakdowns
from tracehouse.queries.report.comparable import find_obstacle
from tracehouse.queries.report.figures import duration_text, name_text
from tracehouse.queries.report.tables import list_sums
from tracehouse.queries.timeline.run_picture import Part, Timeline, timeline_plot

BUILDS = {"base": "the one before", "head": "the last build"}
FIELDS = tuple(BUILDS)
TIMELINES_FIELDS = (*BUILDS, "run", *PART_FIELDS)
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
    return history_link(row["event_name"], **operator, **places)


def _command(base: str, head: str, chosen: dict[str, list[str]]) -> str:
    given = [("", base), ("", head), *((n, one) for n, values in chosen.items() for one in values)]
    words = [f"--{name} {shlex.quote(one)}" if name else shlex.quote(one) for name, one in given]
    return " ".join(["tracehouse compare", *words])


def timelines(request: PageRequest) -> dict[str, Any]:
    """The run of median length of the median dump of each build, by default of the last two."""
    builds = choose_builds(request)
    if not all(builds):
        return {"title": "Timelines", "empty": "Two builds are needed here: widen the filters."}
    request, part = _at_one_place(request, *builds), read_part(request)
    runs = {"run": name} if (name := request.fields.get("run")) else {}
    found = request.rows("page_median_dumps", build=builds, **runs)
    dumps = {row["build"]: row for row in found}
    drawn = [
        (build, dumps[build], _timeline(request, dumps[build], part))
        for build in builds
        if build in dumps
    ]
    outlined = {str(s.name) for _, _, one in drawn if one for s in one.slices if part.marks(s)}
    marked = f" {outlined.pop()} is outlined." if len(outlined) == 1 else ""
    end = max((one.end for _, _, one in drawn if one), default=0.0)
    return {
        "form": filter_form(request, Wanted((*NAMES, *DATES), BUILDS)),
        "title": f"A median run of {name_text(builds[0])} and {name_text(builds[1])}",
        "lead": f"Both are on the same time axis. Click an event to zoom in.{marked}",
        "charts": [_chart(request, build, row, one, end) for build, row, one in drawn if one],
        "empty": "" if len(drawn) == 2 else "One of the builds has no such run: widen the filters.",
    }


def _at_one_place(request: PageRequest, base: str, head: str) -> PageRequest:
    """The request at a device and model; those of the head's newest dump if it names none."""
    newest = request.rows("page_dumps", most=1, before=0, build=[head])
    own = {name: [row[name]] for row in newest for name in PLACE if row[name]}
    fields = {**request.fields, "base": base, "head": head}
    return replace(request, fields=fields, filters={**own, **request.filters})


def _timeline(request: PageRequest, row: Row, part: Part) -> Timeline | None:
    slices = slices_of(read_run(request, row["dump_id"]))
    return Timeline.of(slices, part) if slices else None


def _chart(request: PageRequest, build: str, row: Row, timeline: Timeline, end: float) -> Chart:
    part, path = read_part(request), f"/dumps/{row['sha256']}"
    caption = f"{name_text(build)} on {name_text(row['device'])}: {duration_text(timeline.end)}"
    files = [(f"{path}/run.svg", "svg", "timeline.svg")]
    drawn = timeline_plot(timeline, end, part)
    return Chart(drawn, scales=part.scales, files=files, caption=(path, caption))
