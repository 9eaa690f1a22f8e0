"""Lines over builds or sessions: grid, bands, marks, and a column for each of them.

A column shows its line and its values on hover, without a script. Scripts find all values in data
attributes: the name of each column, and value, low and high of each point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

import svg

from tracehouse.queries.drawing.axis import Axis, AxisKind, Scale, make_axis
from tracehouse.queries.drawing.elements import (
    MARGIN,
    WIDTH,
    draw_file,
    draw_image,
    fit_text,
    label,
    line,
    polylines,
    rectangle,
    safe,
    short_text,
    title,
)
from tracehouse.queries.drawing.sheet import SERIES, colour_class

MOST_LINES = len(SERIES)  # with a colour of their own
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 24, 16, 24
_NAME_ROOM, _MARK_ROOM = 130, 150  # for a name below the axis, and above a mark
_REACH = 16  # radius around a point that belongs to the point
_FILE_HEIGHT, _FILE_HEAD, _LEGEND_ROW = 320, 48, 18
_LEAST_SPAN = 0.05  # share of its values that a sparkline spans


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
        text: Makes the text of a value.
        has_names: Whether each line has its name at its end.
    """

    what: str
    noun: str
    places: Sequence[str]
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    axis: AxisKind = AxisKind()
    is_live: bool = False
    at: str = ""
    text: Callable[[float], str] = "{:,.4g}".format
    has_names: bool = False

    @property
    def spoken(self) -> str:
        """The lines in words: the first and the last value of each."""
        count = f"{len(self.places):,} {self.noun}{'' if len(self.places) == 1 else 's'}"
        return f"{self.what} over {count}: {'; '.join(map(self._speak, self.lines))}"

    def _speak(self, one: Line) -> str:
        known = [value for value in one.values if value is not None]
        name = short_text(one.name)
        if not known:
            return f"{name} has no data".lstrip()
        first, last = self.text(known[0]), self.text(known[-1])
        return f"{name} from {first} to {last}" if name else f"{first} to {last}"


def draw_lines(chart: LineChart, *, width: int, height: int, class_: str) -> str:
    """The chart as an image of a page; empty if there is no value."""
    parts = _draw_parts(chart, width, height)
    if not parts:
        return ""
    data = _axis_data(chart.axis) if chart.is_live else {}
    return draw_image(parts, width=width, height=height, text=chart.spoken, class_=class_, **data)


def draw_lines_file(chart: LineChart, heading: str, *, note: str = "") -> str:
    """The chart as a file with a heading and the names of its lines; empty if there is no value."""
    lines = [one._replace(hrefs=()) for one in chart.lines]  # links lead nowhere from a file
    alone = chart._replace(lines=lines, is_live=False)
    elements = _draw_parts(alone, WIDTH - 2 * MARGIN, _FILE_HEIGHT)
    if not elements:
        return ""
    parts: list[svg.Element] = [
        label(MARGIN, 32, fit_text(heading, WIDTH - 2 * MARGIN, 19), class_="big"),
        svg.G(elements=elements, transform=[svg.Translate(MARGIN, _FILE_HEAD)]),
    ]
    y = _FILE_HEAD + _FILE_HEIGHT
    for number, one in enumerate(lines if any(one.name for one in lines) else ()):
        y += _LEGEND_ROW
        name = fit_text(one.name, WIDTH - 3 * MARGIN)
        square = rectangle((MARGIN, y - 9), (10, 10), f"{colour_class(number)} point")
        parts += [square, label(MARGIN + _LEGEND_ROW, y, name, class_="ink")]
    if note:
        y += _LEGEND_ROW
        parts.append(label(MARGIN, y, note))
    return draw_file(parts, heading=heading, height=y + MARGIN - 8)


def draw_sparkline(
    values: Sequence[float | None],
    *,
    text: str,
    marks: Sequence[tuple[int, Mark]] = (),
    since: int | None = None,
) -> str:
    """A small line without axes, as wide and high as its page wants it; empty without a value.

    It spans at least 5 % of its values, so that noise is small. Marks stand at positions of
    values; what is since one of them is washed.
    """
    known = [value for value in values if value is not None]
    if not known:
        return ""
    middle, half = (min(known) + max(known)) / 2, 0.5 * _LEAST_SPAN
    low, high = min(*known, middle * (1 - half)), max(*known, middle * (1 + half))
    across, up = Scale(0, max(1, len(values) - 1), 2.5, 97.5), Scale(low, high, 88, 12)
    placed = [(across(i), None if value is None else up(value)) for i, value in enumerate(values)]
    parts: list[svg.Element] = []
    if since is not None:
        start = max(0.0, across(since) - 2.5)
        parts.append(rectangle((f"{start}%", 0), (f"{100 - start}%", "100%"), "since"))
    for i, mark in marks:
        rule = line([f"{across(i)}%"], [0, "100%"], f"mark {mark.kind}")
        rule.elements = [title(f"{mark.text}: {short_text(mark.place)}")]
        parts.append(rule)
    stretched = svg.SVG(
        viewBox=svg.ViewBoxSpec(0, 0, 100, 100),
        preserveAspectRatio=svg.PreserveAspectRatio("none"),
        xmlns=None,
        elements=list(polylines(placed, "trace")),
    )
    parts += [stretched, *_lone_points(placed)]
    return draw_image(parts, width=None, height=28, text=text, class_="spark")


def _lone_points(placed: Sequence[tuple[float, float | None]]) -> Iterator[svg.Element]:
    """A point for each value without neighbours, which no line shows, and for the last value."""
    heights = [None, *(y for _, y in placed), None]
    last = max(i for i, (_, y) in enumerate(placed) if y is not None)
    for i, (x, y) in enumerate(placed):
        is_alone = heights[i] is None and heights[i + 2] is None
        if y is not None and (is_alone or i == last):
            class_ = "end" if i == last else "point"
            yield svg.Circle(cx=f"{x}%", cy=f"{y}%", r=2.5, class_=[class_])  # type: ignore[arg-type]


def _draw_parts(chart: LineChart, width: int, height: int) -> list[svg.Element]:
    """The elements of the chart; none if there is no value."""
    axis = make_axis(_extent(chart), chart.axis, start=height - _BOTTOM, end=_TOP)
    if axis is None:
        return []
    across = Scale(0, max(1, len(chart.places) - 1), _LEFT, width - _RIGHT)
    return [
        *_grid(axis, width),
        *_names(chart.places, across, height),
        *(_curve(number, one, across, axis) for number, one in enumerate(chart.lines)),
        *(_name(number, one, across, axis) for number, one in _named(chart)),
        *(part for mark in chart.marks for part in _mark(mark, chart, across, height)),
        *(_column(i, chart, across, axis) for i in range(len(chart.places))),
    ]


def _axis_data(kind: AxisKind) -> dict[str, str]:
    scale = "log" if kind.is_log else "linear"
    return {"unit": kind.unit, "scale": scale, "zero": str(int(kind.has_zero))}


def _extent(chart: LineChart) -> Iterator[float]:
    for one in chart.lines:
        for values in (one.values, one.low, one.high):
            yield from (value for value in values if value is not None)


def _grid(axis: Axis, width: int) -> Iterator[svg.Element]:
    for value, text in axis.ticks:
        y = axis(value)
        if y is not None:
            yield line([0, width], [y], "grid")
            yield label(0, y - 3, text)


def _names(places: Sequence[str], across: Scale, height: int) -> Iterator[svg.Element]:
    """Names of the first and the last place, and of as many between as there is room for."""
    last = len(places) - 1
    count = min(last, int((across.end - across.start) // (_NAME_ROOM + 20)))
    for i in sorted({round(n * last / count) for n in range(count + 1)} if count else {0, last}):
        anchor = "start" if i == 0 else "end" if i == last else "middle"
        class_ = "more" if 0 < i < last else ""  # phones have no room for more
        yield label(across(i), height - 4, fit_text(places[i], _NAME_ROOM), anchor, class_)
        y = height - _BOTTOM
        yield line([across(i)], [y, y + 5], "tick")


def _curve(number: int, one: Line, across: Scale, axis: Axis) -> svg.Element:
    elements: list[svg.Element] = []
    edges = zip(one.low, one.high, strict=True)
    both = [(across(i), axis(low), axis(high)) for i, (low, high) in enumerate(edges)]
    for is_known, run in groupby(both, lambda place: None not in place):
        if is_known:
            around = list(run)
            there = [svg.Point(x, low) for x, low, _ in around if low is not None]
            back = [svg.Point(x, high) for x, _, high in reversed(around) if high is not None]
            elements.append(svg.Polygon(points=[*there, *back], class_=["band"]))
    elements += polylines([(across(i), axis(value)) for i, value in enumerate(one.values)])
    return svg.G(elements=elements, class_=[colour_class(number)])


def _named(chart: LineChart) -> Iterator[tuple[int, Line]]:
    """The lines that have their names at their ends."""
    return (
        (i, one) for i, one in enumerate(chart.lines if chart.has_names else ()) if any(one.values)
    )


def _name(number: int, one: Line, across: Scale, axis: Axis) -> svg.Element:
    """The name of a line above its last value."""
    last = max(i for i, value in enumerate(one.values) if value)
    y = axis(one.values[last]) or 0.0
    name = fit_text(one.name, _NAME_ROOM)
    return label(across(last), y - 6, name, "end", f"name {colour_class(number)}")


def _mark(mark: Mark, chart: LineChart, across: Scale, height: int) -> Iterator[svg.Element]:
    """A line at the place, and the name of the place above on the side that has room."""
    if mark.place not in chart.places:
        return
    at = list(chart.places).index(mark.place)
    x = across(at)
    rule = line([x], [_TOP - 10, height - _BOTTOM], f"mark {mark.kind}")
    rule.elements = [title(f"{mark.text}: {short_text(mark.place)}")]
    rule.data = {"at": str(at), "text": safe(mark.text)}
    yield rule
    is_right = x > (across.start + across.end) / 2
    anchor = "end" if is_right else "start"
    x += 3 if is_right else -3
    yield label(x, 10, fit_text(mark.place, _MARK_ROOM), anchor, "mark-name")


def _column(i: int, chart: LineChart, across: Scale, axis: Axis) -> svg.Element:
    """The points of a place, and on hover a vertical line and the values."""
    x, half = across(i), round((across(1) - across(0)) / 2, 1)
    head = name = fit_text(chart.places[i], across.end)
    hover: list[svg.Element] = []
    if len(chart.lines) == 1:
        head = f"{name}: {_hover(i, chart, chart.lines[0])}"
    else:
        texts = [f"{short_text(one.name)}: {_hover(i, chart, one)}" for one in chart.lines]
        hover = [title("\n".join([name, *texts]))]
    side = "start" if x < across.end / 3 else "end" if x > across.end * 2 / 3 else "middle"
    bottom = axis.scale.start
    elements: list[svg.Element] = [
        *hover,
        rectangle((round(x - half, 1), 0), (2 * half, bottom), "hit"),
        svg.Path(d=[svg.M(x, _TOP - 10), svg.V(bottom)], class_=["hair"]),
        *(_point(i, number, chart, (x, axis)) for number in range(len(chart.lines))),
        label(x, 10, head, side, "values"),
    ]
    data = {"name": safe(name)} if chart.is_live else None
    classes = ["at", *(["here"] if chart.places[i] == chart.at else [])]
    return svg.G(elements=elements, class_=classes, data=data)


def _hover(i: int, chart: LineChart, one: Line) -> str:
    value = one.values[i]
    shown = "no data" if value is None else chart.text(value)
    ends = [edge[i] for edge in (one.low, one.high) if edge]
    edges = [chart.text(end) for end in ends if end is not None]
    if len(set(edges)) > 1:
        shown += f" ({' to '.join(edges)})"
    return ", ".join([shown, *map(short_text, one.details[i : i + 1])])


def _point(i: int, number: int, chart: LineChart, place: tuple[float, Axis]) -> svg.Element:
    """A point, which may be a link; a small circle below where no value is."""
    x, axis = place
    one, colour = chart.lines[number], colour_class(number)
    value, y = one.values[i], axis(one.values[i])
    if y is None:
        return svg.Circle(cx=x, cy=axis.scale.start, r=2, class_=[colour, "gap"])
    point = svg.Circle(cx=x, cy=y, r=2.6, class_=[colour, "point"])
    if not chart.is_live:
        return point
    edges = {"low": one.low[i : i + 1], "high": one.high[i : i + 1]}
    data = {name: repr(edge[0]) for name, edge in edges.items() if edge and edge[0] is not None}
    data["value"] = repr(value)
    if not one.hrefs:
        return svg.G(elements=[point], class_=[colour], data=data)
    area = svg.Circle(cx=x, cy=y, r=_REACH, class_=["hit"])
    link = svg.A(elements=[point, area], class_=[colour], data=data, href=safe(one.hrefs[i]))
    link.extra = {"tabindex": "-1"}  # tables of the same page have these links, too
    return link
