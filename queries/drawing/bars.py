"""Bars: of values, of shares, of changes with their intervals; and what each build covers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import svg

from tracehouse.queries.drawing.axis import Scale
from tracehouse.queries.drawing.elements import (
    MARGIN,
    WIDTH,
    draw_file,
    draw_image,
    fit_text,
    label,
    line,
    rectangle,
    short_text,
    text_width,
    title,
)

_HEAD, _ROW, _LEFT, _RIGHT = 52, 22, 384, 110
_TALL = 16  # height of what could not be seen
_STACK_GAP, _LEAST_PART = 0.2, 0.4  # percent of a bar
_STEP, _SIDE = 14, 11  # from square to square, and the side of one


class Bar(NamedTuple):
    """A bar: its name, its length, and the text at its end."""

    name: str
    value: float
    text: str


def draw_bars_file(bars: Sequence[Bar], heading: str, *, note: str = "") -> str:
    """A file with a bar for each value, to both sides of zero."""
    values = [bar.value for bar in bars]
    low, high = min(0.0, *values), max(0.0, *values)
    across = Scale(low, high or (0.0 if low else 1.0), _LEFT, WIDTH - MARGIN - _RIGHT)
    bottom = _HEAD + len(bars) * _ROW
    parts: list[svg.Element] = [
        label(MARGIN, 32, fit_text(heading, WIDTH - 2 * MARGIN, 19), class_="big"),
        line([across(0.0)], [_HEAD - 6, bottom], "zero"),
    ]
    for i, bar in enumerate(bars):
        y, (start, end) = _HEAD + i * _ROW, sorted((across(0.0), across(bar.value)))
        mark = rectangle((start, y), (max(round(end - start, 1), 0.5), _ROW - 6), "bar")
        mark.elements = [title(short_text(bar.name))]
        name = fit_text(bar.name, _LEFT - MARGIN - 8, 11)
        parts += [
            label(_LEFT - 8, y + 12, name, "end", "ink"),
            mark,
            label(end + 6, y + 12, bar.text, class_="ink"),
        ]
    if note:
        bottom += _ROW
        parts.append(label(MARGIN, bottom - 6, note))
    return draw_file(parts, heading=heading, height=bottom + MARGIN - 8)


def draw_share(share: float) -> str:
    """A bar in a cell, as long as its share of the longest."""
    parts = [
        svg.Rect(width="100%", height=8, rx=2, class_=["bg"]),  # type: ignore[arg-type]
        svg.Rect(width=f"{100 * share:.1f}%", height=8, rx=2),  # type: ignore[arg-type]
    ]
    return draw_image(parts, width=None, height=8, text="", class_="bar")


def draw_stack(sizes: Sequence[tuple[str, int]], text: str) -> str:
    """A bar of parts, which are classes and sizes; the page colours them."""
    total, start = max(sum(size for _, size in sizes), 1), 0.0
    parts: list[svg.Element] = []
    for class_, size in sizes:
        share = 100 * size / total
        width = max(share - _STACK_GAP, _LEAST_PART)
        parts.append(rectangle((f"{start:.2f}%", 0), (f"{width:.2f}%", 8), class_))
        start += share
    return draw_image(parts, width=None, height=8, text=text, class_="stack")


def draw_coverage(builds: Iterable[tuple[str, int]], most: int) -> str:
    """A square for each build and its count: full if it is the most, hollow if it is none."""
    listed = list(builds)
    parts: list[svg.Element] = []
    for i, (build, count) in enumerate(listed):
        kind = "none" if not count else "all" if count >= most else "some"
        square = svg.Rect(x=1 + _STEP * i, y=2, width=_SIDE, height=_SIDE, rx=2)
        square.class_ = [f"cover-{kind}"]
        programs = f"{most:,} program{'' if most == 1 else 's'}"
        square.elements = [title(f"{short_text(build)}: {count} of {programs}")]
        parts.append(square)
    covered = sum(1 for _, count in listed if count)
    text = f"recorded in {covered} of {len(listed):,} build{'' if len(listed) == 1 else 's'}"
    width = max(_STEP, _STEP * len(listed))
    return draw_image(parts, width=width, height=15, text=text, class_="cover")


class Interval(NamedTuple):
    """A change as a share, the ends of its interval, and the smallest change that would show."""

    delta: float | None
    low: float | None
    high: float | None
    zone: float | None = None

    @property
    def ends(self) -> list[float]:
        """All that is known of the change and its interval."""
        return [one for one in (self.delta, self.low, self.high) if one is not None]


class Ruler(NamedTuple):
    """The scale of all bars of a table, in pixels, or in percent of an image's width."""

    scale: Scale
    ticks: Sequence[float]
    unit: str = ""  # or %

    def at(self, value: float) -> float | str:
        """Position of a change; those beyond an end stand at the end."""
        place = self.scale(min(self.scale.high, max(self.scale.low, value)))
        return f"{place}{self.unit}" if self.unit else place

    def has(self, value: float) -> bool:
        """Whether a change is between both ends."""
        return self.scale.low <= value <= self.scale.high

    def tick_texts(self) -> list[str]:
        """The ticks in percent, the last with its unit."""
        texts = [f"{100 * tick:,.10g}".replace("-", "−") for tick in self.ticks]
        return [*texts[:-1], *(f"{text} %" for text in texts[-1:])]


def draw_change_bar(interval: Interval, ruler: Ruler, y: float) -> Iterator[svg.Element]:
    """What could not be seen, the interval and the change; an arrow where they leave the scale."""
    scale = ruler.scale
    if interval.zone is not None:
        start, end = (
            scale(max(scale.low, min(scale.high, x))) for x in (-interval.zone, interval.zone)
        )
        width = f"{end - start:.1f}{ruler.unit}" if ruler.unit else round(end - start, 1)
        yield rectangle((ruler.at(-interval.zone), y - _TALL / 2), (width, _TALL), "zone")
    if ruler.unit:
        yield line([ruler.at(0.0)], [y - _TALL / 2, y + _TALL / 2], "zero")
    if interval.low is not None and interval.high is not None:
        yield line([ruler.at(interval.low), ruler.at(interval.high)], [y], "span")
    if interval.delta is not None and ruler.has(interval.delta):
        yield svg.Circle(cx=ruler.at(interval.delta), cy=y, r=4.5, class_=["dot"])  # type: ignore[arg-type]
    if max(interval.ends, default=0.0) > scale.high:
        yield _tip(ruler.at(scale.high), y, "M-1 -5l6 5-6 5z")
    if min(interval.ends, default=0.0) < scale.low:
        yield _tip(ruler.at(scale.low), y, "M1 -5l-6 5 6 5z")


def _tip(x: float | str, y: float, path: str) -> svg.Element:
    """An arrow where an interval leaves the scale."""
    tip = svg.Path(d=path, class_=["tip"])  # type: ignore[arg-type]
    return svg.SVG(x=x, y=y, overflow="visible", xmlns=None, elements=[tip])  # type: ignore[arg-type]


def draw_ticks(ruler: Ruler, y: float, room: float) -> Iterator[svg.Element]:
    """The texts of ticks in so many pixels; those without room are left out."""
    start, end = ruler.scale.start, ruler.scale.end
    begin = math.inf
    drawn: list[svg.Element] = []
    for tick, text in reversed(list(zip(ruler.ticks, ruler.tick_texts(), strict=True))):
        place, width = room * (ruler.scale(tick) - start) / (end - start), text_width(text)
        anchor = "middle"
        if ruler.unit:  # nothing stands beside the image
            anchor = (
                "end" if place > room - width / 2 else "start" if place < width / 2 else "middle"
            )
        left = place - {"end": width, "start": 0, "middle": width / 2}[anchor]
        if left + width + 6 <= begin:
            begin = left
            drawn.append(label(ruler.at(tick), y, text, anchor))
    yield from reversed(drawn)
