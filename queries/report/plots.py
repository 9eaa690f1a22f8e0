"""The plots of a report: dumps of two builds, a history, a change with its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

import svg

from tracehouse.queries.drawing.axis import Axis, AxisKind, Scale, make_axis
from tracehouse.queries.drawing.elements import draw_image, label, line, text_width, title
from tracehouse.queries.drawing.line_chart import Line, LineChart, Mark, draw_lines, draw_sparkline
from tracehouse.queries.report.change import Speeds
from tracehouse.queries.report.content import (
    BuildPoint,
    Member,
    ReferenceDrift,
    member_operator,
    value_text,
)
from tracehouse.queries.report.figures import count_text, measure_text
from tracehouse.queries.report.parts import Note, choose_notes

MAX_BUILDS = 40
_WIDTH = 360
_LEFT, _RIGHT = 72, 12
_PHONE = 14  # pixels of letters on phones, where they are larger


def strip_plot(member: Member) -> str:
    """A dot for each dump of both builds, above each other, and a line at each build's value.

    Of an operator that runs at two speeds, base and head are of the same one.
    """
    values = [*member.base_values, *member.head_values]
    axis = make_axis(values, AxisKind(member.unit, is_tight=True), start=_LEFT, end=_WIDTH - _RIGHT)
    if axis is None:
        return ""
    rows = [("base", member.base_values, 22), ("head", member.head_values, 58)]
    parts = [*_grid(axis)]
    for side, side_values, y in rows:
        parts += _row(member, side, side_values, (axis.scale, y))
    text = f"Dumps of {member_operator(member)}: {_described(member)}"
    return draw_image(parts, width=_WIDTH, height=104, text=text, class_="strip")


def history_plot(
    member: Member, first_bad: str, fixed_in: str | None = None, notes: Sequence[Note] = ()
) -> str:
    """The medians of the builds up to the head, and the band from the 10th to the 90th percentile.

    Of an operator that runs at two speeds, each speed has a line. Marks are where the change begins
    and ends, and at those notes that are on points of the member.
    """
    points = member.history[-MAX_BUILDS:]
    marks = [Mark(first_bad, "first bad build")]
    if fixed_in is not None:
        marks.append(Mark(fixed_in, "fixed in", "good"))
    marks += map(note_mark, choose_notes(notes, [vars(member)]))
    builds = [point.build for point in points]
    lines = [*_speed_lines(points)] if _has_speeds(points) else [_median_line(points)]
    chart = LineChart("History", "build", builds, lines, marks, AxisKind(member.unit))
    return _course(chart._replace(has_names=len(lines) > 1))


def _has_speeds(points: Sequence[BuildPoint]) -> bool:
    return any(point.slow_count is not None for point in points)


def _median_line(points: Sequence[BuildPoint]) -> Line:
    counts = [count_text(point.dump_count, "dump") for point in points]
    edges = [point.p10 for point in points], [point.p90 for point in points]
    return Line("", [point.value for point in points], *edges, details=counts)


def _speed_lines(points: Sequence[BuildPoint]) -> Iterator[Line]:
    """A line for each of two speeds: the medians of the dumps at it."""
    slow = [point.slow_count or 0 for point in points]
    fast = [point.dump_count - count for point, count in zip(points, slow, strict=True)]
    for name, counts in (("slow", slow), ("fast", fast)):
        details = [
            f"{count} of {count_text(point.dump_count, 'dump')}"
            for point, count in zip(points, counts, strict=True)
        ]
        yield Line(name, [getattr(point, name) for point in points], details=details)


def spark_plot(member: Member, first_bad: str) -> str:
    """The builds up to the head as a small line, washed since the change.

    Of an operator that runs at two speeds, they are at the speed that base and head are of.
    """
    points = [point for point in member.history if point.value is not None][-MAX_BUILDS:]
    builds = [point.build for point in points]
    if len(points) < 2:
        return ""
    since = builds.index(first_bad) if first_bad in builds else None
    values = [point.value for point in points]
    if member.speeds is not None and _has_speeds(points):
        speed = "slow" if Speeds(*member.speeds).speed == "slow" else "fast"
        values = [getattr(point, speed) for point in points]
    return draw_sparkline(values, text=f"the last {len(values)} builds", since=since)


def note_mark(note: Note) -> Mark:
    """The mark of a note on charts."""
    return Mark(note.build, note.signed_text, "note", note.href)


def drift_plot(drift: ReferenceDrift) -> str:
    """The distance of a device's reference builds from their usual time, by session."""
    points = drift.points[-MAX_BUILDS:]
    sessions = [point.session for point in points]
    drifts = Line("", [point.drift for point in points], details=sessions)
    places = [str(point.recorded_on or point.session) for point in points]
    return _course(LineChart("History", "session", places, [drifts], axis=AxisKind("change")))


def _course(chart: LineChart) -> str:
    text = partial(measure_text, unit=chart.axis.unit)
    return draw_lines(chart._replace(text=text), width=_WIDTH, height=140, class_="history")


def _described(member: Member) -> str:
    sides = (("base", member.base_values), ("head", member.head_values))
    return "; ".join(_side_text(member, *side) for side in sides)


def _side_text(member: Member, side: str, values: Sequence[float]) -> str:
    if not values:
        return f"{side} has no dumps"
    low, high = (value_text(member, edge(values)) for edge in (min, max))
    name, middle = _middle(member, side, values)
    slow = f", {_slow_count(member, side)} of them slow" if member.speeds else ""
    count = count_text(len(values), "dump")
    return f"{side} {count}{slow}, {name} {value_text(member, middle)}, {low} to {high}"


def _middle(member: Member, side: str, values: Sequence[float]) -> tuple[str, float]:
    """Name and value of what stands for a side: its median, of the speed that both sides have."""
    level = member.base if side == "base" else member.head
    if member.speeds is None or level is None:
        return "median", median(values)
    return f"{Speeds(*member.speeds).speed} speed", level


def _slow_count(member: Member, side: str) -> int:
    return (member.speeds or (0, 0, 0, 0))[0 if side == "base" else 2]


def _row(
    member: Member, side: str, values: Sequence[float], place: tuple[Scale, int]
) -> list[svg.Element]:
    scale, y = place
    parts: list[svg.Element] = [label(_LEFT - 10, y + 4, side, "end")]
    if values:
        name, value = _middle(member, side, values)
        middle = scale(value)
        dots = svg.Path(d=list(_dots(values, scale, y)), class_=["dots", side])
        dots.elements = [title(_side_text(member, side, values))]
        rule = line([middle], [y - 15, y + 15], f"median {side}")
        rule.elements = [title(f"{side} {name} {value_text(member, value)}")]
        parts += [dots, rule]
    if values and member.speeds:
        parts.append(label(_LEFT - 10, y + 17, f"{_slow_count(member, side)} slow", "end"))
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


def _grid(axis: Axis) -> Iterator[svg.Element]:
    """A line at each tick, and the texts that there is room for."""
    places = [axis.scale(value) for value, _ in axis.ticks]
    gap = places[1] - places[0] if len(places) > 1 else math.inf
    widest = max((text_width(text, _PHONE) for _, text in axis.ticks), default=0.0) + _PHONE
    every = math.ceil(widest / gap) or 1
    for number, (place, (_, text)) in enumerate(zip(places, axis.ticks, strict=True)):
        yield line([place], [4, 82], "grid")
        if number % every == 0:
            yield label(place, 98, text, "middle")
