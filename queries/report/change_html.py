"""Changes in a page: classes of the sheet, no style attributes, and no scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from tracehouse.queries.drawing.axis import Scale
from tracehouse.queries.drawing.bars import Interval, Ruler, draw_change_bar, draw_ticks
from tracehouse.queries.drawing.elements import draw_image
from tracehouse.queries.report.change import Change, ChangeTable, IntervalScale, Kind

if TYPE_CHECKING:
    from tracehouse.queries.report.tally import Tally

_HEIGHT, _MIDDLE = 20, 10
_TICKS_AT = 32
_ROOM, _CARD_ROOM = 136, 240  # pixels of a scale, in a table and in a card


def changes_html(table: ChangeTable, *, is_open: bool = False) -> Markup:
    """The table of changes, and below it what is folded; it needs the classes of the sheet."""
    from tracehouse.queries.report.html import page_environment

    macros = page_environment().get_template("change.html.jinja").module
    return Markup(macros.change_list(table, is_open))  # type: ignore[attr-defined]  # noqa: S704


def comparison_page(
    *,
    heading: str,
    lead: str,
    tally: Tally,
    tables: Iterable[tuple[str, ChangeTable]],
    notes: Sequence[str],
    command: str,
) -> str:
    """A page of its own: a sentence, one count, and a table of changes below each title."""
    from tracehouse.queries.report.html import page_environment

    return (
        page_environment()
        .get_template("comparison.html.jinja")
        .render(
            heading=heading,
            lead=lead,
            tally=tally,
            tables=list(tables),
            notes=notes,
            command=command,
        )
    )


def icon(kind: Kind) -> Markup:
    """The icon of a verdict."""
    if not kind.icon:
        return Markup()
    drawn = ' fill="none" stroke-width="1.8" stroke-linecap="round"' if kind.is_drawn else ""
    return Markup(  # noqa: S704 - a constant
        f'<svg viewBox="0 0 10 10" aria-hidden="true"><path d="{kind.icon}"{drawn}/></svg>'
    )


def interval(change: Change, scale: IntervalScale, *, has_ticks: bool = False) -> Markup:
    """The change and its interval on a scale, as wide as its page wants it."""
    ruler = _ruler(scale)
    drawn = Interval(change.delta, change.low, change.high, change.zone)
    parts = [*draw_change_bar(drawn, ruler, _MIDDLE)]
    if has_ticks:
        parts += draw_ticks(ruler, _TICKS_AT, _CARD_ROOM)
    text = change.percent if change.low is None else f"{change.percent}, between {change.between}"
    class_ = "iv t" if has_ticks else "iv"
    height = 36 if has_ticks else _HEIGHT
    return Markup(draw_image(parts, width=None, height=height, text=text, class_=class_))  # noqa: S704 - texts are escaped where they are drawn


def axis(scale: IntervalScale) -> Markup:
    """The ticks of a scale, for the head of a table."""
    parts = [*draw_ticks(_ruler(scale), 11, _ROOM)]
    return Markup(draw_image(parts, width=None, height=14, text="", class_="iv ax"))  # noqa: S704 - numbers only


def _ruler(scale: IntervalScale) -> Ruler:
    return Ruler(Scale(scale.low, scale.high, 0, 100), scale.ticks, "%")
