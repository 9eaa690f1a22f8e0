"""The charts of the site: series over builds, small ones of single series, and coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import svg
from starlette.responses import Response

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import link
from tracehouse.cli.serve.page.page_request import Address, PageRequest
from tracehouse.cli.serve.page.site import Parts
from tracehouse.queries.plots.line_figure import line_figure
from tracehouse.queries.report.axis import AxisKind
from tracehouse.queries.report.drawing import Scale, lines, picture, scale_of, title
from tracehouse.queries.report.figures import count_text, measure_text, name_text
from tracehouse.queries.report.line_chart import LineChart, Mark, colour_class, line_chart

_WIDTH, _HEIGHT = 720, 260


class Chart(NamedTuple):
    """A chart of a view, with its legend and links.

    Attributes:
        picture: The chart as SVG, for the page.
        lines: The lines of a line chart.
        scales: Links to the same view with another axis: address and text.
        files: Links to the chart's data and to the chart itself: address, text and file name.
        file: The chart as an SVG file, if it has an address.
        caption: Address and text of a link above the chart.
    """

    picture: str
    lines: LineChart | None = None
    scales: Sequence[tuple[str, str]] = ()
    files: Sequence[tuple[str, str, str]] = ()
    file: Callable[[], str] | None = None
    caption: tuple[str, str] | None = None

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Class and name of each line."""
        names = [line.name for line in self.lines.lines] if self.lines else []
        return [(colour_class(number), name) for number, name in enumerate(names)]


def trend_chart(request: PageRequest, path: str, chart: LineChart, **query: object) -> list[Chart]:
    """The lines of a view over builds, on the axis in the address; empty if there is no value.

    Args:
        request: The request for the view.
        path: Address of the view; with .svg, of the chart as a file.
        chart: The lines.
        query: Parameters of the canned query build_history that gives these lines, if it does.
    """
    rows = link("/v1/queries/build_history", **request.filters, **query) if query else ""
    address = {**request.fields, **request.filters}
    files = file_links(rows, link(f"{path}.svg", **address), path.strip("/"))
    return [one._replace(files=files) for one in draw_chart(request, path, chart)]


def draw_chart(request: Address, path: str, chart: LineChart) -> list[Chart]:
    """The lines on the axis in the address, with links to other axes; empty without values."""
    kind = _axis_kind(request.fields)._replace(unit=chart.axis.unit)
    chart = chart._replace(axis=kind, is_live=True)
    drawn = line_chart(chart, width=_WIDTH, height=_HEIGHT, class_="trend")
    if not drawn:
        return []
    address = {**request.fields, **request.filters}
    other = {"scale": None if kind.is_log else "log", "zero": None}
    scales = [(link(path, **{**address, **other}), "Linear axis" if kind.is_log else "Log axis")]
    if not kind.is_log:
        zero = {"zero": None if kind.has_zero else "1"}
        text = "Fit the axis" if kind.has_zero else "Axis from zero"
        scales.append((link(path, **{**address, **zero}), text))
    return [Chart(drawn, chart, scales, (), lambda: line_figure(chart, chart.what))]


def file_links(rows: str, drawing: str, name: str) -> list[tuple[str, str, str]]:
    """Links to the answer of a canned query, if one has it, and to its drawing.

    Each is an address, a text and the name of a file.
    """
    mark = "&" if "?" in rows else "?"
    forms = [(f"{rows}{mark}format={form}", form) for form in ("csv", "arrow") if rows]
    return [(href, form, f"{name}.{form}") for href, form in [*forms, (drawing, "svg")]]


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
    builds: Sequence[str],
    name: str,
    values: Sequence[float | None],
    *,
    colour: int | None = None,
    marks: Sequence[Mark] = (),
    unit: str = "ns",
) -> str:
    """A small line without axes, with its marks; see `steady_scale`."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    across = Scale(0, max(1, len(builds) - 1), 4, 156)
    down = steady_scale(known, 24, 4)
    placed = [(across(i), None if value is None else down(value)) for i, value in enumerate(values)]
    points = [svg.Circle(cx=x, cy=y, r=1.6, class_=["point"]) for x, y in placed if y is not None]
    rules, said = mark_lines(builds, marks, across, 28)
    group = svg.G(elements=[*lines(placed), *points])
    group.class_ = [] if colour is None else [colour_class(colour)]
    first, last = (measure_text(value, unit) for value in (known[0], known[-1]))
    text = "; ".join([f"{name_text(name)} from {first} to {last}", *said])
    return picture([*rules, group], width=160, height=28, text=text, class_="spark")


def steady_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """A scale of at least 5 % of the values, so that noise looks small."""
    middle = (min(values) + max(values)) / 2
    return scale_of([*values, 0.975 * middle, 1.025 * middle], start, end)


def mark_lines(
    builds: Sequence[str], marks: Sequence[Mark], across: Scale, height: float
) -> tuple[list[svg.Element], list[str]]:
    """The marks of a small chart as lines over all its height, and in words."""
    drawn: list[svg.Element] = []
    shown = [mark for mark in marks if mark.place in builds]
    for mark in shown:
        x, hover = across(builds.index(mark.place)), title(f"{mark.text}: {name_text(mark.place)}")
        rule = svg.Line(x1=x, x2=x, y1=0, y2=height, class_=["mark", mark.kind], elements=[hover])
        drawn.append(rule)
    return drawn, [f"{mark.text} in {name_text(mark.place)}" for mark in shown]


def coverage_plot(
    builds: Sequence[str], counts: Mapping[str, int], most: int, noun: str = "model"
) -> str:
    """A square for each build: full if all models were recorded, hollow if none was."""
    parts: list[svg.Element] = []
    for i, build in enumerate(builds):
        count = counts.get(build, 0)
        kind = "none" if not count else "all" if count >= most else "some"
        square = svg.Rect(x=1 + 14 * i, y=2, width=11, height=11, rx=2, class_=[f"cover-{kind}"])
        square.elements = [title(f"{name_text(build)}: {count} of {count_text(most, noun)}")]
        parts.append(square)
    covered = sum(1 for build in builds if counts.get(build))
    text = f"recorded in {covered} of {count_text(len(builds), 'build')}"
    return picture(parts, width=max(14, 14 * len(builds)), height=15, text=text, class_="cover")
