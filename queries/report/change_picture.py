"""Changes as a picture: a file of its own, light or dark as its reader is, for slides and chats."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import svg

from tracehouse.queries.drawing.axis import Scale
from tracehouse.queries.drawing.bars import Interval, Ruler, draw_change_bar, draw_ticks
from tracehouse.queries.drawing.elements import (
    MARGIN,
    WIDTH,
    draw_file,
    fit_text,
    label,
    line,
    title,
)
from tracehouse.queries.report.change import Change
from tracehouse.queries.report.figures import count_text, shorten_name
from tracehouse.queries.report.tables import ChangeTable

MOST_ROWS = 40
_LEFT, _RIGHT = 400, 770
_TOP, _ROW = 112, 38
_LETTERS = 120  # in a line of the lead
_GAP = 12  # between a bar and its text


def change_picture(table: ChangeTable, heading: str, lead: str = "") -> str:
    """The changes of a table with their intervals, the dearest first; noise is one line of text.

    Without a change, the rows that are folded are drawn in grey.
    """
    rows = (table.changes or table.folded)[:MOST_ROWS]
    ruler = Ruler(Scale(table.scale.low, table.scale.high, _LEFT, _RIGHT), table.scale.ticks)
    said = wrap(lead, _LETTERS)[:2]
    top = _TOP + 20 * max(0, len(said) - 1)
    bottom = top + _ROW * len(rows)
    notes = _notes(table, len(rows))
    parts: list[svg.Element] = [
        label(MARGIN, 36, fit_text(heading, WIDTH - 2 * MARGIN, 19), class_="big"),
        *(label(MARGIN, 58 + 20 * i, text, class_="lead") for i, text in enumerate(said)),
        *_grid(ruler, top, bottom),
        label(WIDTH - MARGIN, top - 24, f"cost per run, {table.cost_unit}", "end"),
    ]
    for number, change in enumerate(rows):
        row = [*_row(change, table, ruler, top + _ROW * number)]
        parts.append(svg.G(elements=row, class_=[change.kind.value]))
    for number, note in enumerate(notes):
        parts.append(label(MARGIN, bottom + 24 + 18 * number, note))
    return draw_file(parts, heading=heading, height=bottom + 20 + 18 * len(notes))


def _notes(table: ChangeTable, drawn: int) -> list[str]:
    """What is not drawn."""
    if not table.changes:
        more = len(table.folded) - drawn
        return [f"{count_text(more, 'more row')} not drawn."] if more > 0 else []
    more = len(table.changes) - drawn
    notes = [f"{count_text(more, 'cheaper change')} not drawn."] if more > 0 else []
    return [*notes, f"Not drawn: {table.rest}."] if table.folded else notes


def _grid(ruler: Ruler, top: int, bottom: int) -> Iterator[svg.Element]:
    for tick in ruler.ticks:
        yield line([ruler.at(tick)], [top - 16, bottom], "grid" if tick else "zero")
    yield from draw_ticks(ruler, top - 24, _RIGHT - _LEFT)


def _row(change: Change, table: ChangeTable, ruler: Ruler, top: int) -> Iterator[svg.Element]:
    y = top + 4
    base, head, unit = change.levels
    name = title(f"{change.operator.full} in {change.where}: {change.percent}, {change.word}")
    where = f"{table.where(change)}, {base} → {head} {unit}"
    if change.speeds is not None:
        where = f"{where}, {change.speeds.tag}"
    operator = label(MARGIN, top + 8, shorten_name(change.operator, 46), class_="strong")
    operator.elements = [*(operator.elements or []), name]
    yield operator
    yield label(MARGIN, top + 23, fit_text(where, _LEFT - MARGIN - _GAP))
    interval = Interval(change.delta, change.low, change.high, change.zone)
    yield from draw_change_bar(interval, ruler, y)
    if change.delta is None:
        yield _say(change.word, 0.0, ruler, y)
    elif change.delta < 0:
        yield _say(change.percent, min(interval.ends), ruler, y)
    else:
        yield _say(change.percent, max(interval.ends), ruler, y)
    yield label(WIDTH - MARGIN, y + 4, table.cost(change), "end", "ink lead")


def _say(text: str, end: float, ruler: Ruler, y: float) -> svg.Element:
    """The text of a change beside the end of its bar, to the left of a shorter time."""
    x = ruler.scale(min(ruler.scale.high, max(ruler.scale.low, end)))
    side, anchor = (-_GAP, "end") if end < 0 else (_GAP, "start")
    return label(round(x + side, 1), y + 4, text, anchor, "say")
