"""Lines over builds or sessions, as SVG: grid, bands, marks, and a column for each place.

A column shows its line and its values on hover, without a script. Scripts find all values in data
attributes: the name of each column, and value, low and high of each point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

import svg

from tracehouse.queries.report.drawing import (
    Axis,
    AxisKind,
    Scale,
    axis_of,
    label,
    lines,
    picture,
    safe,
    title,
)
from tracehouse.queries.report.figures import count_text, delta_text, measure_text, name_text

# Lines have the classes c0, c1, ...: the colour of each on a light and on a dark page.
COLOURS = (
    ("#3446b4", "#a6b3ff"), ("#0b7285", "#5cc8da"), ("#94580a", "#e5ac5b"), ("#8a3d9e", "#d79be6"),
    ("#566b1e", "#b3cb6f"), ("#5d6878", "#a3aebe"), ("#a12769", "#f492c2"), ("#2f6b8f", "#8cc4e6"),
)  # fmt: skip
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 24, 16, 24
_NAME = 22  # characters of a name below the axis
_NAME_WIDTH = 150
_REACH = 16  # radius around a point that belongs to the point


class Line(NamedTuple):
    """A line: a value, or None, for each place.

    Attributes:
        name: Name of the line.
        values: Values, in the unit of the axis.
        low: Lower edge of the band around the line; empty without a band.
        high: Upper edge of the band.
        hrefs: Addresses to which points lead; empty without links.
        details: Texts after the values; empty without texts.
    """

    name: str
    values: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    hrefs: Sequence[str] = ()
    details: Sequence[str] = ()


class Mark(NamedTuple):
    """A vertical line at a place: an alert begins (bad) or ends (good) there, or it has a note."""

    place: str
    text: str
    kind: Literal["bad", "good", "note"] = "bad"
    href: str = ""


class LineChart(NamedTuple):
    """Lines over places, which are named.

    Attributes:
        what: Subject of the lines, for a reader who hears the page.
        noun: Noun for a place, such as build.
        places: Names of the places, from left to right.
        lines: The lines.
        marks: Places of note.
        axis: Unit and kind of the axis.
        is_live: Whether a script may draw it again, for which the SVG has its data.
        at: The place whose values are shown from the start; empty for none.
    """

    what: str
    noun: str
    places: Sequence[str]
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    axis: AxisKind = AxisKind()
    is_live: bool = False
    at: str = ""


def line_chart(chart: LineChart, *, width: int, height: int, class_: str) -> str:
    """The chart as SVG; empty if there is no value."""
    parts = chart_parts(chart, width, height)
    if not parts:
        return ""
    spoken = "; ".join(line_text(line, chart.axis) for line in chart.lines)
    text = f"{chart.what} over {count_text(len(chart.places), chart.noun)}: {spoken}"
    data = _axis_data(chart.axis) if chart.is_live else {}
    return picture(parts, width=width, height=height, text=text, class_=class_, **data)


def chart_parts(chart: LineChart, width: int, height: int) -> list[svg.Element]:
    """The elements of the chart; none if there is no value."""
    axis = axis_of(_extent(chart), chart.axis, start=height - _BOTTOM, end=_TOP)
    if axis is None:
        return []
    across = Scale(0, max(1, len(chart.places) - 1), _LEFT, width - _RIGHT)
    return [
        *_grid(axis, width),
        *_names(chart.places, across, height),
        *(_curve(number, line, across, axis) for number, line in enumerate(chart.lines)),
        *(part for mark in chart.marks for part in _mark(mark, chart, across, height)),
        *(_column(i, chart, across, axis) for i in range(len(chart.places))),
    ]


def _axis_data(kind: AxisKind) -> dict[str, str]:
    scale = "log" if kind.is_log else "linear"
    return {"unit": kind.unit, "scale": scale, "zero": str(int(kind.has_zero))}


def colour_class(number: int) -> str:
    """The class of a line's elements."""
    return f"c{number % len(COLOURS)}"


def _extent(chart: LineChart) -> Iterator[float]:
    for line in chart.lines:
        for values in (line.values, line.low, line.high):
            yield from (value for value in values if value is not None)


def _value_text(value: float | None, kind: AxisKind) -> str:
    return delta_text(value) if kind.unit == "change" else measure_text(value, kind.unit)


def line_text(line: Line, kind: AxisKind) -> str:
    """A line in words: its first and last value."""
    known = [value for value in line.values if value is not None]
    if not known:
        return f"{name_text(line.name)} has no data".lstrip()
    first, last = _value_text(known[0], kind), _value_text(known[-1], kind)
    return f"{name_text(line.name)} from {first} to {last}" if line.name else f"{first} to {last}"


def _grid(axis: Axis, width: int) -> Iterator[svg.Element]:
    for value, text in axis.ticks:
        y = axis(value)
        if y is not None:
            yield svg.Line(x1=0, x2=width, y1=y, y2=y, class_=["grid"])
            yield label(0, y - 3, text, "start")


def _names(places: Sequence[str], across: Scale, height: int) -> Iterator[svg.Element]:
    """Names of the first and the last place, and of as many between as there is room for."""
    last = len(places) - 1
    count = min(last, int((across.end - across.start) // _NAME_WIDTH))
    for i in sorted({round(n * last / count) for n in range(count + 1)} if count else {0, last}):
        anchor = "start" if i == 0 else "end" if i == last else "middle"
        class_ = "more" if 0 < i < last else ""  # phones have no room for more
        yield label(across(i), height - 4, name_text(places[i], _NAME), anchor, class_)
        y = height - _BOTTOM
        yield svg.Line(x1=across(i), x2=across(i), y1=y, y2=y + 5, class_=["tick"])


def _curve(number: int, line: Line, across: Scale, axis: Axis) -> svg.Element:
    elements: list[svg.Element] = []
    edges = zip(line.low, line.high, strict=True)
    both = [(across(i), axis(low), axis(high)) for i, (low, high) in enumerate(edges)]
    for is_known, run in groupby(both, lambda place: None not in place):
        if is_known:
            around = list(run)
            there = [svg.Point(x, low) for x, low, _ in around if low is not None]
            back = [svg.Point(x, high) for x, _, high in reversed(around) if high is not None]
            elements.append(svg.Polygon(points=[*there, *back], class_=["band"]))
    elements += lines([(across(i), axis(value)) for i, value in enumerate(line.values)])
    return svg.G(elements=elements, class_=[colour_class(number)])


def _mark(mark: Mark, chart: LineChart, across: Scale, height: int) -> Iterator[svg.Element]:
    """A line at the place, and the name of the place above on the side that has room."""
    if mark.place not in chart.places:
        return
    at = list(chart.places).index(mark.place)
    x = across(at)
    hover = title(f"{mark.text}: {name_text(mark.place)}")
    rule = svg.Line(x1=x, x2=x, y1=_TOP - 10, y2=height - _BOTTOM, class_=["mark", mark.kind])
    rule.elements, rule.data = [hover], {"at": str(at), "text": safe(mark.text)}
    yield rule
    is_right = x > (across.start + across.end) / 2
    anchor = "end" if is_right else "start"
    x += 3 if is_right else -3
    yield label(x, 10, name_text(mark.place, _NAME), anchor, "mark-name")


def _column(i: int, chart: LineChart, across: Scale, axis: Axis) -> svg.Element:
    """The points of a place, and on hover a vertical line and the values."""
    x, half = across(i), round((across(1) - across(0)) / 2, 1)
    head = name = name_text(chart.places[i])
    hover: list[svg.Element] = []
    if len(chart.lines) == 1:
        head = f"{name}: {_hover(i, chart.axis, chart.lines[0])}"
    else:
        texts = [f"{name_text(line.name)}: {_hover(i, chart.axis, line)}" for line in chart.lines]
        hover = [title("\n".join([name, *texts]))]
    side = "start" if x < across.end / 3 else "end" if x > across.end * 2 / 3 else "middle"
    bottom = axis.scale.start
    elements: list[svg.Element] = [
        *hover,
        svg.Rect(x=round(x - half, 1), width=2 * half, height=bottom, class_=["hit"]),
        svg.Path(d=[svg.M(x, _TOP - 10), svg.V(bottom)], class_=["hair"]),
        *(_point(i, number, chart, (x, axis)) for number in range(len(chart.lines))),
        label(x, 10, head, side, "values"),
    ]
    data = {"name": safe(name)} if chart.is_live else None
    classes = ["at", *(["here"] if chart.places[i] == chart.at else [])]
    return svg.G(elements=elements, class_=classes, data=data)


def _hover(i: int, kind: AxisKind, line: Line) -> str:
    value = line.values[i]
    shown = "no data" if value is None else _value_text(value, kind)
    edges = [_value_text(edge[i], kind) for edge in (line.low, line.high) if edge]
    if len(set(edges)) > 1:
        shown += f" ({' to '.join(edges)})"
    return ", ".join([shown, *(name_text(text) for text in line.details[i : i + 1])])


def _point(i: int, number: int, chart: LineChart, place: tuple[float, Axis]) -> svg.Element:
    """A point, which may be a link; a small circle below where no value is."""
    x, axis = place
    line, colour = chart.lines[number], colour_class(number)
    value, y = line.values[i], axis(line.values[i])
    if y is None:
        return svg.Circle(cx=x, cy=axis.scale.start, r=2, class_=[colour, "gap"])
    point = svg.Circle(cx=x, cy=y, r=2.6, class_=[colour, "point"])
    if not chart.is_live:
        return point
    edges = {"low": line.low[i : i + 1], "high": line.high[i : i + 1]}
    data = {name: repr(edge[0]) for name, edge in edges.items() if edge and edge[0] is not None}
    data["value"] = repr(value)
    if not line.hrefs:
        return svg.G(elements=[point], class_=[colour], data=data)
    area = svg.Circle(cx=x, cy=y, r=_REACH, class_=["hit"])
    link = svg.A(elements=[point, area], class_=[colour], data=data, href=safe(line.hrefs[i]))
    link.extra = {"tabindex": "-1"}  # tables of the same page have these links, too
    return link
