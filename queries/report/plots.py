"""The plots of a report: dumps of two builds, a history, a change with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import svg

from queries.report.content import Member, ReferenceDrift
from queries.report.drawing import Scale, label, lines, picture, scale_of, title
from queries.report.figures import (
    count_text,
    delta_text,
    interval_text,
    measure_text,
    member_operator,
    name_text,
    value_text,
)

MAX_BUILDS = 40
_WIDTH = 360
_LEFT, _RIGHT = 72, 12
_LABEL = 22  # characters of a build's name


class Point(NamedTuple):
    """A point of a line: its name, its value, and further text on hover."""

    name: str
    value: float | None
    detail: str


def strip_plot(member: Member) -> str:
    """A dot for each dump of both builds, above each other, and a line at each build's median."""
    values = [*member.base_values, *member.head_values]
    if not values:
        return ""
    scale = scale_of(values, _LEFT, _WIDTH - _RIGHT)
    rows = [("base", member.base_values, 22), ("head", member.head_values, 58)]
    parts: list[svg.Element] = [_axis(scale, member)]
    for side, side_values, y in rows:
        parts += _row(member, side, side_values, (scale, y))
    text = f"Dumps of {member_operator(member)}: {_described(member)}"
    return picture(parts, width=_WIDTH, height=104, text=text, class_="strip")


def history_plot(member: Member, first_bad: str) -> str:
    """The medians of the builds up to the head; the first bad one has a line."""
    points = [
        Point(
            name_text(point.build),
            point.median if point.median_ns is None else point.median_ns,
            count_text(point.dump_count, "dump"),
        )
        for point in member.history[-MAX_BUILDS:]
    ]
    text_of = partial(measure_text, unit=member.unit)
    return _course(points, text_of, "build", name_text(first_bad))


def drift_plot(drift: ReferenceDrift) -> str:
    """The distance of a device's reference builds from their usual time, by session."""
    points = [
        Point(str(point.recorded_on or name_text(point.session)), point.drift, point.session)
        for point in drift.points[-MAX_BUILDS:]
    ]
    return _course(points, delta_text, "session")


def _course(
    points: Sequence[Point], text_of: Callable[[float | None], str], noun: str, marked: str = ""
) -> str:
    """Values in order; the first point with the marked name has a line."""
    values = [point.value for point in points if point.value is not None]
    if not values:
        return ""
    across = Scale(0, max(1, len(points) - 1), _LEFT, _WIDTH - _RIGHT)
    down = scale_of(values, 70, 22)
    marks = [i for i, point in enumerate(points) if point.name == marked]
    parts: list[svg.Element] = _mark(across(marks[0]), marked) if marks else []
    placed = [
        (across(i), None if point.value is None else down(point.value))
        for i, point in enumerate(points)
    ]
    parts += lines(placed)
    for (x, y), point in zip(placed, points, strict=True):
        what = "no data" if y is None else text_of(point.value)
        dot = svg.Circle(cx=x, cy=76 if y is None else y, r=2 if y is None else 2.6)
        dot.class_ = ["gap" if y is None else "point"]
        dot.elements = [title(f"{point.name}: {what}, {name_text(point.detail)}")]
        parts.append(dot)
    parts += [label(_LEFT - 6, y + 3, text_of(value), "end") for value, y in _ends(values)]
    parts.append(label(_LEFT, 94, name_text(points[0].name, _LABEL), "start"))
    if len(points) > 1:
        parts.append(label(_WIDTH - _RIGHT, 94, name_text(points[-1].name, _LABEL), "end"))
    ends = f"{text_of(values[0])} to {text_of(values[-1])}"
    text = f"History over {count_text(len(points), noun)}: {ends}"
    return picture(parts, width=_WIDTH, height=100, text=text, class_="history")


def interval_ends(members: Sequence[Member]) -> tuple[float, float]:
    """The scale for the changes of members."""
    ends = [0.0]
    for member in members:
        ends += (x for x in (member.delta, member.delta_low, member.delta_high) if x is not None)
    return min(ends), max(ends)


def interval_plot(member: Member, low: float, high: float) -> str:
    """The change of a member and its interval, on a scale from low to high with a line at zero."""
    scale = Scale(low, high, 4, 92)
    delta = member.delta or 0.0
    left = scale(delta if member.delta_low is None else member.delta_low)
    right = scale(delta if member.delta_high is None else member.delta_high)
    parts: list[svg.Element] = [
        svg.Line(x1=scale(0), x2=scale(0), y1=0, y2=14, class_=["zero"]),
        svg.Line(x1=left, x2=right, y1=7, y2=7, class_=["range"]),
        svg.Circle(cx=scale(delta), cy=7, r=3, class_=["point"]),
    ]
    interval = interval_text(member.delta_low, member.delta_high)
    text = f"{delta_text(member.delta)}, interval {interval}"
    return picture(parts, width=96, height=14, text=text, class_="interval")


def _described(member: Member) -> str:
    sides = (("base", member.base_values), ("head", member.head_values))
    return "; ".join(_side_text(member, *side) for side in sides)


def _side_text(member: Member, side: str, values: Sequence[float]) -> str:
    if not values:
        return f"{side} has no dumps"
    low, middle, high = (value_text(member, f(values)) for f in (min, median, max))
    return f"{side} {count_text(len(values), 'dump')}, median {middle}, {low} to {high}"


def _row(
    member: Member, side: str, values: Sequence[float], place: tuple[Scale, int]
) -> list[svg.Element]:
    scale, y = place
    parts: list[svg.Element] = [label(_LEFT - 10, y + 4, side, "end")]
    if values:
        middle = scale(median(values))
        dots = svg.Path(d=list(_dots(values, scale, y)), class_=["dots", side])
        dots.elements = [title(_side_text(member, side, values))]
        line = svg.Line(x1=middle, x2=middle, y1=y - 15, y2=y + 15, class_=["median", side])
        line.elements = [title(f"{side} median {value_text(member, median(values))}")]
        parts += [dots, line]
    return parts


def _dots(values: Sequence[float], scale: Scale, y: int) -> Iterator[svg.PathData]:
    """Strokes of no length, which are round; the dots of a column are centred."""
    columns: Counter[int] = Counter()
    for x in sorted(scale(value) for value in values):
        column = int(x // 5)
        step = (columns[column] + 1) // 2 % 4 * 4.5
        columns[column] += 1
        yield svg.MoveTo(x, y + (step if columns[column] % 2 else -step))
        yield svg.HorizontalLineToRel(0)


def _axis(scale: Scale, member: Member) -> svg.Element:
    low, high = (f([*member.base_values, *member.head_values]) for f in (min, max))
    ends = [(low, "start"), (high, "end")] if high > low else [(low, "middle")]
    labels = [label(scale(x), 98, value_text(member, x), anchor) for x, anchor in ends]
    line = svg.Line(x1=_LEFT, x2=_WIDTH - _RIGHT, y1=82, y2=82, class_=["axis"])
    return svg.G(elements=[line, *labels])


def _mark(x: float, first_bad: str) -> list[svg.Element]:
    """A line at the first bad build, its name above on the side that has room."""
    hover = title(f"first bad build: {name_text(first_bad)}")
    line = svg.Line(x1=x, x2=x, y1=14, y2=80, class_=["mark"], elements=[hover])
    is_right = x > _WIDTH / 2
    return [
        line,
        label(
            x + (3 if is_right else -3),
            10,
            name_text(first_bad, _LABEL),
            "end" if is_right else "start",
        ),
    ]


def _ends(medians: list[float]) -> list[tuple[float, float]]:
    """The labelled values of the axis, with positions: the largest and the smallest."""
    low, high = min(medians), max(medians)
    return [(high, 22), (low, 70)] if high > low else [(high, 46)]
