"""A run of a dump on a time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import svg

from tracehouse.cli.serve.page.charts import Chart, file_links
from tracehouse.queries.plots.line_figure import DARK, STYLE, WIDTH
from tracehouse.queries.report.drawing import label, picture, title
from tracehouse.queries.report.figures import count_text, duration_text, name_text
from tracehouse.queries.timeline.nesting import nest

MOST_SLICES = 2000
# The colour of each kind of event on a light and on a dark page.
KINDS = {
    "method": ("#d3def2", "#24365c"), "load": ("#e7dcf3", "#3a2a52"),
    "kernel": ("#cdeadb", "#17432f"), "operator_call": ("#e2e7ee", "#2b3444"),
    "delegate_call": ("#fbe3c0", "#4b3510"), "delegate_op": ("#f7d5d2", "#52211f"),
}  # fmt: skip
_ROW = 18  # height of a row of slices
_LEAST_SHARE, _NAMED_SHARE = 0.04, 1  # percent of a run: to be seen, and to have room for a name


class Slice(NamedTuple):
    """An event on the time axis."""

    name: str
    kind: str
    start: float
    duration: float


class Timeline(NamedTuple):
    """Slices under the slices that contain them."""

    slices: Sequence[Slice]
    levels: Sequence[int]

    @classmethod
    def of(cls, slices: Sequence[Slice]) -> Timeline:
        """The timeline of a run; of its longest slices if there are too many."""
        longest = sorted(slices, key=lambda one: -one.duration)[:MOST_SLICES]
        placed = sorted(longest, key=lambda one: (one.start, -one.duration))
        ends = [one.start + one.duration for one in placed]
        return cls(placed, nest([one.start for one in placed], ends).depths)

    @property
    def end(self) -> float:
        """When the last slice ends."""
        return max(one.start + one.duration for one in self.slices)

    @property
    def height(self) -> int:
        """Height of the drawing."""
        return (max(self.levels) + 1) * _ROW + 16

    def elements(self, until: float = 0.0) -> list[svg.Element]:
        """The slices and the axis, in percent of the width, which lasts until a time."""
        end = max(self.end, until) or 1
        bars = [_bar(one, level, end) for one, level in zip(self.slices, self.levels, strict=True)]
        y = self.height - 2
        return [*bars, label(0, y, "0", "start"), label("100%", y, duration_text(end), "end")]


def timeline_chart(slices: Sequence[Slice], rows: str, drawing: str) -> list[Chart]:
    """The chart of a run, with the addresses of its events and drawing; empty without slices."""
    if not slices:
        return []
    timeline = Timeline.of(slices)
    files = file_links(rows, drawing, "timeline")
    drawn = timeline_plot(timeline)
    return [Chart(drawn, files=files, file=lambda: timeline_figure(timeline))]


def timeline_plot(timeline: Timeline, until: float = 0.0) -> str:
    """The timeline as an image of a page, as wide as the page, which lasts until a time."""
    count = count_text(len(timeline.slices), "event")
    text = f"Timeline of {count} in {duration_text(timeline.end)}"
    height = timeline.height
    return picture(
        timeline.elements(until), width=None, height=height, text=text, class_="timeline"
    )


def timeline_figure(timeline: Timeline) -> str:
    """The timeline as an SVG file."""
    light, dark = ("".join(_rules(number)) for number in (0, 1))
    style = svg.Style(text=f"{STYLE}{light}{DARK}{dark}}}")
    elements = [style, *timeline.elements()]
    return svg.SVG(width=WIDTH, height=timeline.height, elements=elements).as_str() + "\n"


def _rules(number: int) -> list[str]:
    return [f".kind-{kind} rect {{ fill: {pair[number]}; }}\n" for kind, pair in KINDS.items()]


def _bar(one: Slice, level: int, end: float) -> svg.Element:
    """A slice, which cuts its name off."""
    share = max(100 * one.duration / end, _LEAST_SHARE)
    bar = svg.Rect(width=svg.Length(100, "%"), height=_ROW - 2, rx=1.5)
    hover = title(f"{name_text(one.name)}: {duration_text(one.duration)} ({one.kind})")
    name = [label(3, 12, name_text(one.name), "start")] if share >= _NAMED_SHARE else []
    return svg.SVG(
        x=svg.Length(round(100 * one.start / end, 3), "%"),
        y=level * _ROW,
        width=svg.Length(round(share, 3), "%"),
        height=_ROW,
        elements=[bar, hover, *name],
        class_=[f"kind-{one.kind}"],
        xmlns=None,
    )
