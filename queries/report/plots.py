"""The plots of a report: dumps of two builds, a history, a change with its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

import svg

from tracehouse.queries.report.change import Speeds
from tracehouse.queries.report.content import Member, ReferenceDrift, member_operator, value_text
from tracehouse.queries.report.drawing import Axis, AxisKind, Scale, axis_of, label, picture, title
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.line_chart import Line, LineChart, Mark, line_chart
from tracehouse.queries.report.parts import Note, choose_notes

MAX_BUILDS = 40
_WIDTH = 360
_LEFT, _RIGHT = 72, 12
_LETTER = 8  # approximate width on phones, where letters are larger


def strip_plot(member: Member) -> str:
    """A dot for each dump of both builds, above each other, and a line at each build's value.

    Of an operator that runs at two speeds, base and head are of the same one.
    """
    values = [*member.base_values, *member.head_values]
    axis = axis_of(values, AxisKind(member.unit, is_tight=True), start=_LEFT, end=_WIDTH - _RIGHT)
    if axis is None:
        return ""
    rows = [("base", member.base_values, 22), ("head", member.head_values, 58)]
    parts = [*_grid(axis)]
    for side, side_values, y in rows:
        parts += _row(member, side, side_values, (axis.scale, y))
    text = f"Dumps of {member_operator(member)}: {_described(member)}"
    return picture(parts, width=_WIDTH, height=104, text=text, class_="strip")


def history_plot(
    member: Member, first_bad: str, fixed_in: str | None = None, notes: Sequence[Note] = ()
) -> str:
    """The medians of the builds up to the head, and the band from the 10th to the 90th percentile.

    Marks are where the change begins and ends, and at those notes that are on points of the member.
    """
    points = member.history[-MAX_BUILDS:]
    medians = [point.value for point in points]
    counts = [count_text(point.dump_count, "dump") for point in points]
    marks = [Mark(first_bad, "first bad build")]
    if fixed_in is not None:
        marks.append(Mark(fixed_in, "fixed in", "good"))
    marks += map(note_mark, choose_notes(notes, [vars(member)]))
    builds = [point.build for point in points]
    edges = [point.p10 for point in points], [point.p90 for point in points]
    line = Line("", medians, *edges, details=counts)
    return _course(LineChart("History", "build", builds, [line], marks, AxisKind(member.unit)))


def note_mark(note: Note) -> Mark:
    """The mark of a note on charts."""
    return Mark(note.build, note.signed_text, "note", note.href)


def drift_plot(drift: ReferenceDrift) -> str:
    """The distance of a device's reference builds from their usual time, by session."""
    points = drift.points[-MAX_BUILDS:]
    sessions = [point.session for point in points]
    line = Line("", [point.drift for point in points], details=sessions)
    places = [str(point.recorded_on or point.session) for point in points]
    return _course(LineChart("History", "session", places, [line], axis=AxisKind("change")))


def _course(chart: LineChart) -> str:
    return line_chart(chart, width=_WIDTH, height=140, class_="history")


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
        line = svg.Line(x1=middle, x2=middle, y1=y - 15, y2=y + 15, class_=["median", side])
        line.elements = [title(f"{side} {name} {value_text(member, value)}")]
        parts += [dots, line]
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
    widest = _LETTER * max((len(text) for _, text in axis.ticks), default=0)
    every = math.ceil(widest / gap) or 1
    for number, (place, (_, text)) in enumerate(zip(places, axis.ticks, strict=True)):
        yield svg.Line(x1=place, x2=place, y1=4, y2=82, class_=["grid"])
        if number % every == 0:
            yield label(place, 98, text, "middle")
