"""Changes as a picture: a file of its own, light or dark as its reader is, for slides and chats."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import svg

from tracehouse.queries.report.change import Change, Kind
from tracehouse.queries.report.drawing import Scale, label, safe, title
from tracehouse.queries.report.figures import count_text, name_text, shorten_name
from tracehouse.queries.report.tables import ChangeTable, IntervalScale

WIDTH = 960
MOST_ROWS = 40
_EDGE, _LEFT, _RIGHT = 24, 400, 770
_TOP, _ROW = 112, 38
_LETTERS = 120  # of a line of the lead
_TONES = {
    Kind.SLOWER: ("#b3201b", "#ff9287"),
    Kind.FASTER: ("#10684a", "#66d3a5"),
    Kind.NEW: ("#855000", "#efb65f"),
    Kind.CHANGED: ("#855000", "#efb65f"),
    Kind.ACKNOWLEDGED: ("#44587a", "#adbedb"),
    Kind.FIXED: ("#44587a", "#adbedb"),
    Kind.UNCHANGED: ("#535f71", "#9ca8ba"),
    Kind.UNSURE: ("#535f71", "#9ca8ba"),
}
_STYLE = """
svg { font: 13px -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
text { fill: #141a24; } .bg { fill: #fff; } .soft { fill: #535f71; }
.strong { font-weight: 600; } .big { font-size: 19px; font-weight: 650; }
.small { font-size: 11px; }
.grid { stroke: #dfe4eb; } .zero { stroke: #9aa5b5; } .zone { fill: #e6eaf0; }
.span { stroke-width: 3; stroke-linecap: round; } .unsure.span { stroke-dasharray: 2 5; }
"""
_DARK = """@media (prefers-color-scheme: dark) {
text { fill: #e7ebf2; } .bg { fill: #161b24; } .soft { fill: #9ca8ba; }
.grid { stroke: #2a3342; } .zero { stroke: #6b788c; } .zone { fill: #222a37; }
"""


def change_picture(table: ChangeTable, heading: str, lead: str = "") -> str:
    """The changes of a table with their intervals, the dearest first; noise is one line of text.

    Without a change, the rows that are folded are drawn in grey.
    """
    rows = (table.changes or table.folded)[:MOST_ROWS]
    scale = Scale(table.scale.low, table.scale.high, _LEFT, _RIGHT)
    said = wrap(lead, _LETTERS)[:2]
    top = _TOP + 20 * max(0, len(said) - 1)
    bottom = top + _ROW * len(rows)
    notes = _notes(table, len(rows))
    height = bottom + 20 + 18 * len(notes)
    parts: list[svg.Element] = [
        title(heading),
        svg.Style(text=_style()),
        svg.Rect(width=WIDTH, height=height, class_=["bg"]),
        label(_EDGE, 36, name_text(heading, 90), "start", "big"),
        *(label(_EDGE, 58 + 20 * i, text, "start", "soft") for i, text in enumerate(said)),
        *_grid(table.scale, scale, top, bottom),
        label(WIDTH - _EDGE, top - 24, f"cost per run, {table.cost_unit}", "end", "soft"),
    ]
    for number, change in enumerate(rows):
        parts += _row(change, table, scale, top + _ROW * number)
    for number, note in enumerate(notes):
        parts.append(label(_EDGE, bottom + 24 + 18 * number, note, "start", "soft"))
    box = svg.ViewBoxSpec(0, 0, WIDTH, height)
    extra = {"role": "img", "aria-label": safe(name_text(heading, 200))}
    drawn = svg.SVG(width=WIDTH, height=height, viewBox=box, elements=parts, extra=extra)
    return drawn.as_str() + "\n"


def _notes(table: ChangeTable, drawn: int) -> list[str]:
    """What is not drawn."""
    if not table.changes:
        more = len(table.folded) - drawn
        return [f"{count_text(more, 'more row')} not drawn."] if more > 0 else []
    more = len(table.changes) - drawn
    notes = [f"{count_text(more, 'cheaper change')} not drawn."] if more > 0 else []
    return [*notes, f"Not drawn: {table.rest}."] if table.folded else notes


def _grid(ticks: IntervalScale, scale: Scale, top: int, bottom: int) -> Iterator[svg.Element]:
    last = len(ticks.ticks) - 1
    for number, tick in enumerate(ticks.ticks):
        x = scale(tick)
        text = f"{100 * tick:,.10g}".replace("-", "−") + (" %" if number == last else "")
        class_ = "zero" if tick == 0 else "grid"
        yield svg.Line(x1=x, x2=x, y1=top - 16, y2=bottom, class_=[class_])
        yield label(x, top - 24, text, "middle", "soft")


def _row(change: Change, table: ChangeTable, scale: Scale, top: int) -> Iterator[svg.Element]:
    kind, y = change.kind, top + 4
    base, head, unit = change.levels
    name = title(f"{change.operator.full} in {change.where}: {change.percent}, {change.word}")
    where = f"{table.where(change)}, {base} → {head} {unit}"
    if change.speeds is not None:
        where = f"{where}, {change.speeds.tag}"
    operator = label(_EDGE, top + 8, shorten_name(change.operator, 46), "start", "strong")
    operator.elements = [*(operator.elements or []), name]
    yield operator
    yield label(_EDGE, top + 23, name_text(where, 66), "start", "soft small")
    if change.zone is not None:
        start, end = (_inside(scale, each) for each in (-change.zone, change.zone))
        yield svg.Rect(x=start, y=y - 8, width=round(end - start, 1), height=16, class_=["zone"])
    ends = [each for each in (change.low, change.high, change.delta) if each is not None]
    if change.low is not None and change.high is not None:
        yield svg.Line(
            x1=_inside(scale, change.low),
            x2=_inside(scale, change.high),
            y1=y,
            y2=y,
            class_=["span", kind.value],
        )
    if change.delta is not None:
        x = _inside(scale, change.delta)
        yield svg.Circle(cx=x, cy=y, r=5, class_=["dot", kind.value])
        is_left = change.delta < 0
        edge = _inside(scale, min(ends) if is_left else max(ends))
        side = "end" if is_left else "start"
        yield label(
            edge + (-12 if is_left else 12), y + 4, change.percent, side, f"say {kind.value}"
        )
    else:
        yield label(scale(0.0) + 12, y + 4, change.word, "start", f"say {kind.value}")
    yield label(WIDTH - _EDGE, y + 4, table.cost(change), "end")


def _inside(scale: Scale, value: float) -> float:
    return scale(min(scale.high, max(scale.low, value)))


def _style() -> str:
    light, dark = (
        "".join(_rule(kind, tones[number]) for kind, tones in _TONES.items()) for number in (0, 1)
    )
    return f"{_STYLE}{light}{_DARK}{dark}}}\n"


def _rule(kind: Kind, tone: str) -> str:
    return (
        f".{kind.value}.span {{ stroke: {tone}; }} "
        f".{kind.value}.dot, .{kind.value}.say {{ fill: {tone}; }}\n"
    )
