"""The view of a median run of two builds: one below the other, on the same time axis."""

from __future__ import annotations

from typing import Any

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import Row, link
from tracehouse.cli.serve.page.charts import Chart, file_links
from tracehouse.cli.serve.page.dumps import read_run
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.cli.serve.page.timeline import Timeline, timeline_plot
from tracehouse.queries.report.figures import duration_text, name_text

FIELDS = ("base", "head", "run")


def timelines(request: PageRequest) -> dict[str, Any]:
    """The run of median length of the median dump of each build.

    Raises:
        Problem: 400 if the address does not name two builds.
    """
    builds = [request.fields.get(name, "") for name in ("base", "head")]
    if not all(builds):
        raise Problem(400, "base", "name two builds: base= and head=")
    runs = {"run": name} if (name := request.fields.get("run")) else {}
    found = request.rows("page_median_dumps", build=builds, **runs)
    dumps = {row["build"]: row for row in found}
    drawn = [(build, dumps[build], _timeline(request, dumps[build])) for build in builds
             if build in dumps]  # fmt: skip
    end = max((one.end for _, _, one in drawn if one), default=0.0)
    return {
        "title": f"A median run of {name_text(builds[0])} and {name_text(builds[1])}",
        "lead": "Both are on the same time axis.",
        "charts": [_chart(build, row, one, end) for build, row, one in drawn if one],
        "empty": "" if len(drawn) == 2 else "One of the builds has no such run: widen the filters.",
    }


def _timeline(request: PageRequest, row: Row) -> Timeline | None:
    slices = read_run(request, row["dump_id"])
    return Timeline.of(slices) if slices else None


def _chart(build: str, row: Row, timeline: Timeline, end: float) -> Chart:
    path = f"/dumps/{row['sha256']}"
    rows = link("/v1/queries/run_timeline", dump=row["dump_id"])
    caption = f"{name_text(build)} on {name_text(row['device'])}: {duration_text(timeline.end)}"
    files = file_links(rows, f"{path}/run.svg", "timeline")
    return Chart(timeline_plot(timeline, end), files=files, caption=(path, caption))
