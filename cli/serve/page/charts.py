"""The plots of the site: series over builds, coverage, and one run on a time axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import svg

from queries.report.drawing import Scale, label, lines, picture, scale_of, title
from queries.report.figures import count_text, duration_text, name_text
from queries.timeline.nesting import nest

COLOURS = 8  # classes of lines: c0, c1, ...
MOST_SLICES = 2000
_WIDTH, _LEFT, _RIGHT = 720, 72, 16
_ROW = 18  # height of a row of slices
_LETTER = 6.2  # approximate width


class Trend(NamedTuple):
    """A series over builds: a value in nanoseconds, or None, for each build."""

    name: str
    values: list[float | None]


class Slice(NamedTuple):
    """An event on the time axis."""

    name: str
    kind: str
    start: float
    duration: float


def trend_plot(builds: Sequence[str], trends: Sequence[Trend], what: str) -> str:
    """Lines over builds, each in its own colour; empty if there is no value."""
    known = [value for trend in trends for value in trend.values if value is not None]
    if not known:
        return ""
    across = Scale(0, max(1, len(builds) - 1), _LEFT, _WIDTH - _RIGHT)
    down = scale_of([*known, min(known) * 0.98, max(known) * 1.02], 190, 14)
    parts: list[svg.Element] = [
        svg.Line(x1=_LEFT, x2=_WIDTH - _RIGHT, y1=196, y2=196, class_=["axis"])
    ]
    for number, trend in enumerate(trends):
        elements = _curve(builds, trend, across, down)
        parts.append(svg.G(elements=elements, class_=[f"c{number % COLOURS}"]))
    parts += [
        label(_LEFT - 8, down(value) + 4, duration_text(value), "end")
        for value in {min(known), max(known)}
    ]
    parts.append(label(_LEFT, 212, name_text(builds[0], 24), "start"))
    if len(builds) > 1:
        parts.append(label(_WIDTH - _RIGHT, 212, name_text(builds[-1], 24), "end"))
    text = f"{what} over {count_text(len(builds), 'build')}: " + "; ".join(
        _spoken(trend) for trend in trends
    )
    return picture(parts, width=_WIDTH, height=218, text=text, class_="trend")


def spark_plot(builds: Sequence[str], trend: Trend, colour: int | None = None) -> str:
    """A small line without axes, whose height spans at least 5 % of its value."""
    known = [value for value in trend.values if value is not None]
    if not known:
        return ""
    across = Scale(0, max(1, len(builds) - 1), 4, 156)
    middle = (min(known) + max(known)) / 2
    down = scale_of([*known, 0.975 * middle, 1.025 * middle], 24, 4)
    elements = _curve(builds, trend, across, down)
    group = svg.G(elements=elements, class_=[] if colour is None else [f"c{colour}"])
    return picture([group], width=160, height=28, text=_spoken(trend), class_="spark")


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


def timeline_plot(slices: Iterable[Slice]) -> str:
    """Slices under the slices that contain them; only the longest if there are too many."""
    longest = sorted(slices, key=lambda one: -one.duration)[:MOST_SLICES]
    placed = sorted(longest, key=lambda one: (one.start, -one.duration))
    if not placed:
        return ""
    ends = [one.start + one.duration for one in placed]
    levels = nest([one.start for one in placed], ends).depths
    end, depth = max(ends), max(levels) + 1
    across = Scale(0, end or 1, 0, 1000)
    parts = [_bar(one, level, across) for one, level in zip(placed, levels, strict=True)]
    height = depth * _ROW + 16
    parts.append(label(0, height - 2, "0", "start"))
    parts.append(label(1000, height - 2, duration_text(end), "end"))
    text = f"Timeline of {count_text(len(placed), 'event')} in {duration_text(end)}"
    return picture(parts, width=1000, height=height, text=text, class_="timeline")


def _bar(one: Slice, level: int, across: Scale) -> svg.Element:
    x, end = across(one.start), across(one.start + one.duration)
    width = max(end - x, 0.4)
    y = level * _ROW
    bar = svg.Rect(x=x, y=y, width=round(width, 1), height=_ROW - 2, rx=1.5)
    hover = title(f"{name_text(one.name)}: {duration_text(one.duration)} ({one.kind})")
    elements: list[svg.Element] = [bar, hover]
    room = int(width / _LETTER) - 1
    if room >= 3:
        elements.append(label(x + 3, y + 12, name_text(one.name, room), "start"))
    return svg.G(elements=elements, class_=[f"kind-{one.kind}"])


def _curve(builds: Sequence[str], trend: Trend, across: Scale, down: Scale) -> list[svg.Element]:
    """A line and its points, each with its value on hover."""
    placed = [
        (across(i), None if value is None else down(value)) for i, value in enumerate(trend.values)
    ]
    elements = list(lines(placed))
    for build, value, (x, y) in zip(builds, trend.values, placed, strict=True):
        if y is not None:
            hover = f"{name_text(trend.name)}, {name_text(build)}: {duration_text(value)}"
            dot = svg.Circle(cx=x, cy=y, r=2.6, class_=["point"], elements=[title(hover)])
            elements.append(dot)
    return elements


def _spoken(trend: Trend) -> str:
    known = [value for value in trend.values if value is not None]
    if not known:
        return f"{name_text(trend.name)} has no data"
    return f"{name_text(trend.name)} from {duration_text(known[0])} to {duration_text(known[-1])}"
