"""Small plots side by side, one for each series, each against the median of its pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import svg

from tracehouse.cli.serve.page.charts import mark_lines, steady_scale
from tracehouse.queries.report.axis import AxisKind
from tracehouse.queries.report.drawing import Scale, lines, picture, title
from tracehouse.queries.report.figures import delta_text, duration_text, name_text
from tracehouse.queries.report.line_chart import Line, Mark, line_text

_WIDTH, _HEIGHT, _EDGE = 240, 72, 5


class Multiple(NamedTuple):
    """A small plot: its name and address, its picture, and its last value and change in words."""

    name: str
    href: str
    picture: str
    value: str
    change: str


def small_plot(
    builds: Sequence[str], line: Line, median: Line | None = None, marks: Sequence[Mark] = ()
) -> str:
    """A line with its marks, and a faint one of the median, on one scale; empty without values."""
    drawn = [line, *([median] if median else [])]
    known = [value for one in drawn for value in one.values if value is not None]
    if not known:
        return ""
    across = Scale(0, max(1, len(builds) - 1), _EDGE, _WIDTH - _EDGE)
    down = steady_scale(known, _HEIGHT - _EDGE, _EDGE)
    parts, said = mark_lines(builds, marks, across, _HEIGHT)
    for one, kind in zip(reversed(drawn), ["pool", "own"][-len(drawn) :], strict=True):
        places = [(across(i), None if y is None else down(y)) for i, y in enumerate(one.values)]
        parts.append(svg.G(elements=list(lines(places)), class_=[kind]))
    for build, value, x in zip(builds, line.values, range(len(builds)), strict=True):
        if value is not None:
            dot = svg.Circle(cx=across(x), cy=down(value), r=2.2, class_=["point"])
            dot.elements = [title(f"{name_text(build)}: {duration_text(value)}")]
            parts.append(dot)
    text = "; ".join([*(line_text(one, AxisKind()) for one in drawn), *said])
    return picture(parts, width=_WIDTH, height=_HEIGHT, text=text, class_="multiple")


def make_multiple(
    builds: Sequence[str],
    line: Line,
    *,
    href: str,
    change: float | None,
    median: Line | None,
    marks: Sequence[Mark] = (),
) -> Multiple:
    """The small plot of a series."""
    last = next((value for value in reversed(line.values) if value is not None), None)
    drawn = small_plot(builds, line, median, marks)
    return Multiple(line.name, href, drawn, duration_text(last), delta_text(change))
