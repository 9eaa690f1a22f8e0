"""A run of a dump on a time axis: the part of it in an address, and its chart."""

from __future__ import annotations

from collections.abc import Sequence

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.charts import Chart
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.timeline.run_picture import (
    WHOLE,
    Part,
    Slice,
    Timeline,
    timeline_figure,
    timeline_plot,
)

PART_FIELDS = ("from", "to", "event", "ordinal")
_MOST_NS = 1e15


def read_part(request: Address) -> Part:
    """The part of runs in the address (from=, to=), with what is to be pointed out (event=).

    Raises:
        Problem: 400 if it is no part.
    """
    given = [request.fields.get(name) or "0" for name in PART_FIELDS[:2]]
    try:
        start, end = map(float, given)
    except ValueError:
        start, end = 0.0, -1.0
    if not (0 <= start < _MOST_NS and (end == 0 or start < end < _MOST_NS)):
        raise Problem(400, "from", f"from={given[0]}, to={given[1]}, wanted two times in ns")
    zoom = lambda low, high: request.here(**{"from": f"{low:.0f}", "to": f"{high:.0f}"})  # noqa: E731
    changed = [request.fields.get(name, "") for name in PART_FIELDS[2:]]
    whole = request.here(**dict.fromkeys(PART_FIELDS[:2], ""))
    return Part(start, end, zoom, tuple(filter(None, changed)), whole)


def timeline_chart(slices: Sequence[Slice], drawing: str, part: Part = WHOLE) -> list[Chart]:
    """The chart of a run, with the address of its drawing; empty without slices."""
    if not slices:
        return []
    timeline = Timeline.of(slices, part)
    drawn = timeline_plot(timeline, part=part)
    file = [(drawing, "svg", "timeline.svg")]
    return [Chart(drawn, scales=part.scales, files=file,
                  file=lambda: timeline_figure(timeline))]  # fmt: skip
