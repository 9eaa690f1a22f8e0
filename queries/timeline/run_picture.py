"""A run of a dump as SVG on a time axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import svg

from tracehouse.queries.drawing.elements import (
    draw_file,
    draw_image,
    fit_text,
    label,
    safe,
    text_width,
    title,
)
from tracehouse.queries.report.figures import OperatorName, count_text, duration_text, short_name
from tracehouse.queries.timeline.nesting import nest

MOST_SLICES = 2000
_ROW = 18  # height of a row of slices
# Percent of a run that a slice has at least to be seen, and to be a link, and at most to be one.
_LEAST_SHARE, _LINKED_SHARE, _MOST_SHARE = 0.04, 1, 98
_PAGE, _PHONE = 960, 330  # pixels of the drawing
_LEAST_NAME = 16  # pixels; a shorter name says nothing
_HIDDEN = ("operator_call",)  # contains its kernel, and takes a row of its own


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


def timeline_plot(timeline: Timeline, until: float = 0.0, part: Part = WHOLE) -> str:
    """The timeline as an image of a page, as wide as the page, which lasts until a time."""
    count = count_text(len(timeline.slices), "event")
    text = f"Timeline of {count} in {duration_text(timeline.end)}"
    elements, height = timeline.elements(until, part), timeline.height
    role = "group" if part.zoom else "img"  # a group has links
    return draw_image(elements, width=None, height=height, text=text, class_="timeline", role=role)


def timeline_figure(timeline: Timeline) -> str:
    """The timeline as an SVG file."""
    heading = f"Timeline of {count_text(len(timeline.slices), 'event')}"
    return draw_file(timeline.elements(), heading=heading, height=timeline.height)


def _is_in(one: Slice, part: Part) -> bool:
    return one.start + one.duration > part.start and (not part.end or one.start < part.end)


def _bar(one: Slice, level: int, part: Part) -> svg.Element:
    """A slice with as much of its name as has room, which leads to the part that it takes."""
    span = part.end - part.start
    start = max(100 * (one.start - part.start) / span, 0.0)
    stop = min(100 * (one.start + one.duration - part.start) / span, 100.0)
    share = max(stop - start, _LEAST_SHARE)
    bar = svg.Rect(width="100%", height=_ROW - 2, rx=1.5, class_=["event"])  # type: ignore[arg-type]
    hover = title(f"{one.name}: {duration_text(one.duration)} ({one.kind.replace('_', ' ')})")
    room = share / 100 * _PAGE - 6
    short = fit_text(str(one.name), room) if room > _LEAST_NAME else ""
    is_narrow = text_width(short) > share / 100 * _PHONE - 6
    name = [label(3, 12, short, class_="more ink" if is_narrow else "ink")] if short else []
    drawn: list[svg.Element] = [bar, hover, *name]
    if part.zoom and _LINKED_SHARE <= share < _MOST_SHARE:
        href = part.zoom(one.start, one.start + one.duration)
        drawn = [svg.A(href=safe(href), elements=drawn)]
    return svg.SVG(
        x=f"{round(start, 3)}%",  # type: ignore[arg-type]
        y=level * _ROW,
        width=f"{round(share, 3)}%",  # type: ignore[arg-type]
        height=_ROW,
        elements=drawn,
        class_=[f"kind-{one.kind}", *(["changed"] if part.marks(one) else [])],
        xmlns=None,
    )
