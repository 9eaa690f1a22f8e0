"""Bars and squares: a file of bars, a bar in a cell, and what each build covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    title,
)

_HEAD, _ROW, _LEFT, _RIGHT = 52, 22, 384, 110
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
