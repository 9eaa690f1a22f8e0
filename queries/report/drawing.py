"""Elements of plots as SVG for a page: colours are the page's, and every text is escaped.

svg.py does not escape texts, so everything except our own numbers passes through `safe`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

import svg

from tracehouse.queries.printable import printable


class Scale(NamedTuple):
    """Maps values to places between two edges; to the middle if all are equal."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value, to a tenth."""
        span = self.high / 2 - self.low / 2  # halves, which no difference makes infinite
        share = (value / 2 - self.low / 2) / span if span > 0 else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def scale_of(values: Sequence[float], start: float, end: float) -> Scale:
    """A scale on which the values fill all the room."""
    return Scale(min(values), max(values), start, end)


def label(x: float | str, y: float, text: str, anchor: str, class_: str = "") -> svg.Element:
    """A text at a place; `anchor` is the part of it there: start, middle or end."""
    start = None if anchor == "start" else anchor
    classes = [class_] if class_ else None
    return svg.Text(x=x, y=y, text=safe(text), text_anchor=start, class_=classes)  # type: ignore[arg-type]


def title(text: str) -> svg.Element:
    """The text of an element on hover."""
    return svg.Title(text=safe(text))


def lines(points: Iterable[tuple[float, float | None]]) -> Iterator[svg.Element]:
    """Lines through points, interrupted at points without a height."""
    for has_value, run in groupby(points, lambda point: point[1] is not None):
        if has_value:
            through = [svg.Point(x, y) for x, y in run if y is not None]
            yield svg.Polyline(points=through, class_=["line"])


def picture(
    parts: list[svg.Element],
    *,
    width: float | None,
    height: float,
    text: str,
    class_: str,
    **data: str,
) -> str:
    """An image with a name for screen readers, and with data attributes for scripts.

    Without a width, the image is as wide as the page, and positions may be in percent.
    """
    box = None if width is None else svg.ViewBoxSpec(0, 0, width, height)
    extra = {"role": "img", "aria-label": safe(text)}
    extra |= {f"data-{name}": safe(value) for name, value in data.items()}
    drawn = svg.SVG(viewBox=box, class_=[class_], elements=parts, xmlns=None, extra=extra)
    if box is None:
        drawn.height = height
    return drawn.as_str()


def safe(text: str) -> str:
    """A text of one or more lines, escaped for SVG, which cannot contain control characters."""
    return escape("\n".join(map(printable, text.split("\n"))))
