"""A run of a dump on a time axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import svg

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.charts import Chart
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.plots.line_figure import DARK, STYLE, WIDTH
from tracehouse.queries.printable import shorten
from tracehouse.queries.report.drawing import label, picture, safe, title
from tracehouse.queries.report.figures import OperatorName, count_text, duration_text, short_name
from tracehouse.queries.timeline.nesting import nest

MOST_SLICES = 2000
# The colour of each kind of event on a light and on a dark page.
KINDS = {
    "method": ("#d3def2", "#24365c"), "load": ("#e7dcf3", "#3a2a52"),
    "kernel": ("#cdeadb", "#17432f"), "operator_call": ("#e2e7ee", "#2b3444"),
    "delegate_call": ("#fbe3c0", "#4b3510"), "delegate_op": ("#f7d5d2", "#52211f"),
}  # fmt: skip
_ROW = 18  # height of a row of slices
# Percent of a run that a slice has at least to be seen, and to be a link, and at most to be one.
_LEAST_SHARE, _LINKED_SHARE, _MOST_SHARE = 0.04, 1, 98
_LETTERS, _FEW = 1.6, 3  # of a name in a percent of the width; fewer than these say nothing
_PHONE_LETTERS = 0.5  # the same on phones
_HIDDEN = ("operator_call",)  # contains its kernel, and takes a row of its own
_MOST_NS = 1e15
PART_FIELDS = ("from", "to", "event", "ordinal")


class Slice(NamedTuple):
    """An event on the time axis."""

    event_name: str
    delegate_id: str | None
    ordinal: int | None
    kind: str
    start: float
    duration: float

    @property
    def name(self) -> OperatorName:
        """Its name, in parts."""
        return short_name(self.event_name, self.delegate_id, self.ordinal)


class Part(NamedTuple):
    """The part of a run that is shown, in nanoseconds."""

    start: float = 0.0
    end: float = 0.0  # 0 for that of the run
    zoom: Callable[[float, float], str] | None = None  # makes the address of another part
    changed: tuple[str, ...] = ()  # names and number of the events to point out
    whole: str = ""  # the address of the whole run

    @property
    def scales(self) -> list[tuple[str, str]]:
        """The link back to the whole run, if a part is shown."""
        return [(self.whole, "Whole run")] if self.end else []

    def marks(self, one: Slice) -> bool:
        """Whether an event is to be pointed out."""
        names = {one.event_name, one.delegate_id, str(one.ordinal)}
        return bool(self.changed) and names.issuperset(self.changed)


WHOLE = Part()


class Timeline(NamedTuple):
    """Slices under the slices that contain them."""

    slices: Sequence[Slice]
    levels: Sequence[int]

    @classmethod
    def of(cls, slices: Sequence[Slice], part: Part = WHOLE) -> Timeline:
        """The timeline of a part of a run; of its longest slices if there are too many."""
        shown = [one for one in slices if one.kind not in _HIDDEN and _is_in(one, part)] or slices
        longest = sorted(shown, key=lambda one: -one.duration)[:MOST_SLICES]
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

    def elements(self, until: float = 0.0, part: Part = WHOLE) -> list[svg.Element]:
        """The slices and the axis, in percent of the width, which lasts until a time."""
        part = part._replace(end=part.end or max(self.end, until) or 1)
        bars = [_bar(one, level, part) for one, level in zip(self.slices, self.levels, strict=True)]
        y, begin = self.height - 2, duration_text(part.start) if part.start else "0"
        last = label("100%", y, duration_text(part.end), "end")
        return [*bars, label(0, y, begin, "start"), last]


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


def timeline_plot(timeline: Timeline, until: float = 0.0, part: Part = WHOLE) -> str:
    """The timeline as an image of a page, as wide as the page, which lasts until a time."""
    count = count_text(len(timeline.slices), "event")
    text = f"Timeline of {count} in {duration_text(timeline.end)}"
    elements, height = timeline.elements(until, part), timeline.height
    drawn = picture(elements, width=None, height=height, text=text, class_="timeline")
    return drawn.replace('role="img"', 'role="group"', 1) if part.zoom else drawn  # it has links


def timeline_figure(timeline: Timeline) -> str:
    """The timeline as an SVG file."""
    light, dark = ("".join(_rules(number)) for number in (0, 1))
    style = svg.Style(text=f"{STYLE}{light}{DARK}{dark}}}")
    elements = [style, *timeline.elements()]
    return svg.SVG(width=WIDTH, height=timeline.height, elements=elements).as_str() + "\n"


def _rules(number: int) -> list[str]:
    return [f".kind-{kind} rect {{ fill: {pair[number]}; }}\n" for kind, pair in KINDS.items()]


def _is_in(one: Slice, part: Part) -> bool:
    return one.start + one.duration > part.start and (not part.end or one.start < part.end)


def _bar(one: Slice, level: int, part: Part) -> svg.Element:
    """A slice with as much of its name as has room, which leads to the part that it takes."""
    span = part.end - part.start
    start = max(100 * (one.start - part.start) / span, 0.0)
    stop = min(100 * (one.start + one.duration - part.start) / span, 100.0)
    share = max(stop - start, _LEAST_SHARE)
    bar = svg.Rect(width=svg.Length(100, "%"), height=_ROW - 2, rx=1.5)
    hover = title(f"{one.name}: {duration_text(one.duration)} ({one.kind.replace('_', ' ')})")
    room = int(share * _LETTERS)
    short = shorten(str(one.name), room)
    class_ = "more" if len(short) > share * _PHONE_LETTERS else ""
    name = [label(3, 12, short, "start", class_)] if room > _FEW else []
    drawn: list[svg.Element] = [bar, hover, *name]
    if part.zoom and _LINKED_SHARE <= share < _MOST_SHARE:
        href = part.zoom(one.start, one.start + one.duration)
        drawn = [svg.A(href=safe(href), elements=drawn)]
    return svg.SVG(
        x=svg.Length(round(start, 3), "%"),
        y=level * _ROW,
        width=svg.Length(round(share, 3), "%"),
        height=_ROW,
        elements=drawn,
        class_=[f"kind-{one.kind}", *(["changed"] if part.marks(one) else [])],
        xmlns=None,
    )
