"""The charts of the site: lines over builds or of an answer to SQL, sparklines, timelines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from starlette.responses import Response

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.page_request import Address, PageRequest
from tracehouse.cli.serve.page.site import Parts
from tracehouse.queries.cells import is_number
from tracehouse.queries.drawing.axis import AxisKind
from tracehouse.queries.drawing.line_chart import (
    MOST_LINES,
    Line,
    LineChart,
    Mark,
    draw_lines,
    draw_lines_file,
    draw_sparkline,
)
from tracehouse.queries.drawing.sheet import colour_class
from tracehouse.queries.plain_values import plain_rows
from tracehouse.queries.report.figures import measure_text, name_text
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
_WIDTH, _HEIGHT = 720, 260
MOST_ROWS = 5000  # in an answer that is drawn
MOST_PLACES = 200
_UNITS_NS = {"_ns": 1.0, "_us": 1e3, "_ms": 1e6}  # by the end of a column's name


class Chart(NamedTuple):
    """A chart of a view, with its legend and links: address and text."""

    picture: str
    lines: LineChart | None = None
    scales: Sequence[tuple[str, str]] = ()  # links to other axes
    files: Sequence[tuple[str, str, str]] = ()  # and the name of the file
    file: Callable[[], str] | None = None  # makes the chart as a file
    caption: tuple[str, str] | None = None

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Class and name of each line."""
        names = [line.name for line in self.lines.lines] if self.lines else []
        return [(colour_class(number), name) for number, name in enumerate(names)]


def draw_chart(request: Address, chart: LineChart) -> list[Chart]:
    """The lines on the axis in the address, with links to other axes; empty without values."""
    kind = _axis_kind(request.fields)._replace(unit=chart.axis.unit)
    chart = chart._replace(axis=kind, is_live=True)
    drawn = draw_lines(chart, width=_WIDTH, height=_HEIGHT, class_="trend")
    other = request.here(scale=None if kind.is_log else "log", zero=None)
    scales = [(other, "Linear axis" if kind.is_log else "Log axis")]
    if not kind.is_log:
        zero = request.here(zero=None if kind.has_zero else "1")
        scales.append((zero, "Fit the axis" if kind.has_zero else "Axis from zero"))
    return [Chart(drawn, chart, scales)] if drawn else []


def chart_file(make: Callable[[PageRequest], Parts]) -> Callable[[PageRequest], Response]:
    """The function that makes a view's chart as an SVG file."""
    return lambda request: svg_answer(make(request).get("charts", []))


def svg_answer(charts: Sequence[Chart]) -> Response:
    """The first of the charts that are files, which loads nothing and runs no script.

    Raises:
        Problem: 404 if there is none.
    """
    drawn = next((one.file() for one in charts if one.file), None)
    if drawn is None:
        raise Problem(404, "no_chart", "there is no value to draw: widen the filters")
    return Response(drawn, media_type="image/svg+xml", headers={"Cache-Control": "no-store"})


def _axis_kind(address: Mapping[str, str]) -> AxisKind:
    scale, zero = address.get("scale") or "linear", address.get("zero") or "0"
    if scale not in ("linear", "log"):
        raise Problem(400, "scale", f"scale={scale}, wanted linear or log")
    if zero not in ("0", "1"):
        raise Problem(400, "zero", f"zero={zero}, wanted 0 or 1")
    return AxisKind(is_log=scale == "log", has_zero=zero == "1" and scale != "log")


def spark_plot(
    builds: Sequence[str], name: str, values: Sequence[float | None], marks: Sequence[Mark] = ()
) -> str:
    """A small line without axes, with its marks; empty without a value."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    placed = [(builds.index(mark.place), mark) for mark in marks if mark.place in builds]
    first, last = (measure_text(value, "ns") for value in (known[0], known[-1]))
    said = [f"{mark.text} in {name_text(mark.place)}" for _, mark in placed]
    text = "; ".join([f"{name_text(name)} from {first} to {last}", *said])
    return draw_sparkline(values, text=text, marks=placed)


def answer_chart(address: Address, table: pa.Table) -> list[Chart]:
    """The chart of the numbers in the address (y=), by default the last; empty if there is none.

    The last column without numbers is the axis, else the first column. The other columns without
    numbers distinguish lines.

    Raises:
        Problem: 400 if no column of numbers has the name in the address.
    """
    names = [field.name for field in table.schema if not is_number(field.type)]
    numbers = [field.name for field in table.schema if is_number(field.type)]
    if not names:
        names, numbers = numbers[:1], numbers[1:]
    wanted = address.fields.get("y") or (numbers[-1] if numbers else "")
    if wanted not in numbers and "y" in address.fields:
        raise Problem(400, "y", f"y={wanted}, wanted a column of numbers: {', '.join(numbers)}")
    is_unique = len(set(table.column_names)) == table.num_columns
    if not numbers or not is_unique or not 1 < table.num_rows <= MOST_ROWS:
        return []
    chart = _chart(table.select([*names, wanted]))
    if not 1 < len(chart.places) <= MOST_PLACES or len(chart.lines) > MOST_LINES:
        return []
    drawn = draw_lines(chart, width=_WIDTH, height=_HEIGHT, class_="trend")
    others = [(address.here(y=name), f"Plot {name}") for name in numbers if name != wanted]
    if not drawn:
        return []
    files = [(address.here(format="svg", page=""), "svg", "answer.svg")]
    return [Chart(drawn, chart, others, files, lambda: draw_lines_file(chart, chart.what))]


def _chart(table: pa.Table) -> LineChart:
    """The last column over the one before, with a line for each text in the columns before that."""
    *_, noun, what = table.column_names
    scale = next((by for end, by in _UNITS_NS.items() if what.endswith(end)), None)
    places: dict[str, None] = {}  # a set that keeps the order
    values: dict[str, dict[str, float]] = {}
    numbers = table[what].cast(pa.float64()).to_pylist()
    for row, number in zip(plain_rows(table.drop_columns([what])), numbers, strict=True):
        *names, place = map(str, row)
        places[place] = None
        line = values.setdefault(" · ".join(names) or what, {})
        if number is not None and math.isfinite(number):
            line[place] = number * (scale or 1)
    lines = [
        Line(name_text(name), [own.get(place) for place in places]) for name, own in values.items()
    ]
    axis = AxisKind("ns" if scale else "count")
    text = partial(measure_text, unit=axis.unit)
    return LineChart(
        name_text(what), name_text(noun), list(places), lines, axis=axis, is_live=True, text=text
    )


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
