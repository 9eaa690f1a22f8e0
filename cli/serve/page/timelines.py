"""The view of a median run of two builds: one below the other, on the same time axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tracehouse.cli.serve.page.cells import PLACE, Row, link
from tracehouse.cli.serve.page.charts import Chart, file_links
from tracehouse.cli.serve.page.comparison import BUILDS, choose_builds
from tracehouse.cli.serve.page.dumps import read_run
from tracehouse.cli.serve.page.filter_form import Wanted, filter_form
from tracehouse.cli.serve.page.page_request import DATES, NAMES, PageRequest
from tracehouse.cli.serve.page.timeline import (
    PART_FIELDS,
    Part,
    Timeline,
    read_part,
    timeline_plot,
    zoomed_out,
)
from tracehouse.queries.report.figures import duration_text, name_text

FIELDS = (*BUILDS, "run", *PART_FIELDS)


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
    end = max((one.end for _, _, one in drawn if one), default=0.0)
    return {
        "form": filter_form(request, Wanted((*NAMES, *DATES), BUILDS)),
        "title": f"A median run of {name_text(builds[0])} and {name_text(builds[1])}",
        "lead": f"Both are on the same time axis. Click an event to zoom in.{_marked(part)}",
        "charts": [_chart(request, build, row, one, end) for build, row, one in drawn if one],
        "empty": "" if len(drawn) == 2 else "One of the builds has no such run: widen the filters.",
    }


def _at_one_place(request: PageRequest, base: str, head: str) -> PageRequest:
    """The request at a device and model; those of the head's newest dump if it names none."""
    newest = request.rows("page_dumps", most=1, before=0, build=[head])
    own = {name: [row[name]] for row in newest for name in PLACE if row[name]}
    fields = {**request.fields, "base": base, "head": head}
    return replace(request, fields=fields, filters={**own, **request.filters})


def _marked(part: Part) -> str:
    return f" {name_text(part.changed)} is outlined." if part.changed else ""


def _timeline(request: PageRequest, row: Row, part: Part) -> Timeline | None:
    slices = read_run(request, row["dump_id"])
    return Timeline.of(slices, part) if slices else None


def _chart(request: PageRequest, build: str, row: Row, timeline: Timeline, end: float) -> Chart:
    part, whole = read_part(request), request.here(**dict.fromkeys(PART_FIELDS[:2], ""))
    path = f"/dumps/{row['sha256']}"
    rows = link("/v1/queries/run_timeline", dump=row["dump_id"])
    caption = f"{name_text(build)} on {name_text(row['device'])}: {duration_text(timeline.end)}"
    files = file_links(rows, f"{path}/run.svg", "timeline")
    drawn = timeline_plot(timeline, end, part)
    return Chart(drawn, scales=zoomed_out(part, whole), files=files, caption=(path, caption))
