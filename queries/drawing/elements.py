"""Elements of charts, and the renderer: an image in a page, or a file of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

import svg

from tracehouse.queries.drawing.sheet import file_rules
from tracehouse.queries.printable import printable, shorten

WIDTH = 960  # pixels of a file
MARGIN = 24
_LETTER = 0.54  # mean width of a letter, as a share of the size of its font
_NARROW, _WIDE = frozenset("ijlftrI.,:;|'!()[] "), frozenset("mwMW%@→")


def text_width(text: str, size: float = 11) -> float:
    """The approximate width of a text in pixels.

    >>> text_width("million") < text_width("WWWWWWW"), round(text_width("convolution #2"))
    (True, 74)
    """
    factors = (0.6 if one in _NARROW else 1.6 if one in _WIDE else 1.0 for one in text)
    return _LETTER * size * sum(factors)


def short_text(text: str, most: int = 120) -> str:
    """An untrusted text on one line, shortened to a number of letters."""
    return shorten(printable(shorten(text, most)), most)


def fit_text(text: str, room: float, size: float = 11) -> str:
    """An untrusted text on one line, shortened to a width in pixels.

    >>> fit_text("convolution #2", 40), fit_text("conv", 40)
    ('convol…', 'conv')
    """
    shown = short_text(text, max(1, int(room / (_LETTER * size * 0.6))))
    while text_width(shown, size) > room and len(shown) > 1:
        shown = shorten(
            shown.replace("…", ""), max(1, int(len(shown) * room / text_width(shown, size)))
        )
    return shown


def label(
    x: float | str, y: float | str, text: str, anchor: str = "start", class_: str = ""
) -> svg.Element:
    """A text; `anchor` is the part of it at x: start, middle or end."""
    start = None if anchor == "start" else anchor
    classes = class_.split() or None
    return svg.Text(x=x, y=y, text=safe(text), text_anchor=start, class_=classes)  # type: ignore[arg-type]


def title(text: str) -> svg.Element:
    """The text of an element on hover."""
    return svg.Title(text=safe(text))


def line(x: Sequence[float | str], y: Sequence[float | str], class_: str) -> svg.Line:
    """A straight line; x and y are those of its ends, or of both if there is one."""
    return svg.Line(x1=x[0], x2=x[-1], y1=y[0], y2=y[-1], class_=class_.split())  # type: ignore[arg-type]


def rectangle(
    at: tuple[float | str, float | str], size: tuple[float | str, float | str], class_: str
) -> svg.Rect:
    """A rectangle with its left upper corner somewhere."""
    return svg.Rect(x=at[0], y=at[1], width=size[0], height=size[1], class_=class_.split())  # type: ignore[arg-type]


def polylines(
    points: Iterable[tuple[float, float | None]], class_: str = "line"
) -> Iterator[svg.Element]:
    """Lines through points, interrupted at points without a height."""
    for has_value, run in groupby(points, lambda point: point[1] is not None):
        if has_value:
            through = [svg.Point(x, y) for x, y in run if y is not None]
            yield svg.Polyline(points=through, class_=[class_])


def percent(share: float) -> str:
    """A position in percent of the width.

    >>> percent(0.5)
    '50.0%'
    """
    return f"{100 * share:.1f}%"


def draw_image(
    parts: Sequence[svg.Element],
    *,
    width: float | None,
    height: float,
    text: str,
    class_: str,
    role: str = "img",
    **data: str,
) -> str:
    """An image of a page with a name for screen readers, and with data attributes for scripts.

    Without a width, the image is as wide as the page, and positions may be in percent. Without a
    text, screen readers do not see it.
    """
    box = None if width is None else svg.ViewBoxSpec(0, 0, width, height)
    extra = {"role": role, "aria-label": safe(text)} if text else {"aria-hidden": "true"}
    extra |= {f"data-{name}": safe(value) for name, value in data.items()}
    drawn = svg.SVG(
        viewBox=box, class_=class_.split(), elements=list(parts), xmlns=None, extra=extra
    )
    if box is None:
        drawn.height = height
    return drawn.as_str()


def draw_file(
    parts: Sequence[svg.Element], *, heading: str, height: float, width: float = WIDTH
) -> str:
    """A file of its own, light or dark as its reader is; it loads nothing and runs no script."""
    height = math.ceil(height)
    elements = [rectangle((0, 0), (width, height), "paper"), *parts]
    box = svg.ViewBoxSpec(0, 0, width, height)
    extra = {"role": "img", "aria-label": safe(heading)}
    style = svg.Style(text=file_rules({*_classes(elements)}))
    drawn = svg.SVG(
        width=width,
        height=height,
        viewBox=box,
        extra=extra,
        elements=[title(heading), style, *elements],
    )
    return drawn.as_str() + "\n"


def _classes(elements: Iterable[svg.Element]) -> Iterator[str]:
    for one in elements:
        yield from one.class_ or ()  # type: ignore[attr-defined]
        yield from _classes(one.elements or ())


def safe(text: str) -> str:
    """A text of one or more lines, escaped for SVG, which cannot contain control characters."""
    return escape("\n".join(map(printable, text.split("\n"))))
