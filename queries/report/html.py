"""A report as one self-contained HTML page: no network, no script, plots included.

Names are always text in the page: the templates escape every value, and the page forbids the
browser to load or run anything. Changes have classes of the sheet and no style attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tracehouse.queries.drawing import sheet
from tracehouse.queries.drawing.axis import Scale
from tracehouse.queries.drawing.bars import Interval, Ruler, draw_change_bar, draw_ticks
from tracehouse.queries.drawing.elements import draw_image
from tracehouse.queries.report import figures, outline, plots
from tracehouse.queries.report.change import Change, Kind, change_of_group, change_of_member
from tracehouse.queries.report.content import member_operator, member_place
from tracehouse.queries.report.figures import MAX_TEXT, name_text
from tracehouse.queries.report.outline import (
    Section,
    Tally,
    commits_url,
    facts,
    is_card,
    notes_on,
    operators_text,
    place_title,
    sections,
)
from tracehouse.queries.report.plots import drift_plot
from tracehouse.queries.report.sentences import lead_text, order_rows, split_summary
from tracehouse.queries.report.tables import (
    ChangeTable,
    IntervalScale,
    changes,
    evidence,
    list_sums,
)

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Report
    from tracehouse.queries.report.parts import Note
    from tracehouse.queries.report.tables import Listing

PLOTTED = 2  # members of a group
SUMS = 6  # methods of a group, of which the first is not folded
SHOWN = 5  # members in a group's table
FOLDED = 19  # further members, which readers can unfold
OPENED = 2  # sections whose groups may be unfolded
MAX_OPEN = 3  # groups unfolded from the start
MAX_DRIFTS = 40  # devices whose reference is plotted
MAX_ROWS = 1000  # rows of any other table
FIRST_ROWS, PAGE_ROWS = 12, 50  # rows that are unfolded at first, and per part
_HEIGHT, _MIDDLE = 20, 10
_TICKS_AT = 32
_ROOM, _CARD_ROOM = 136, 240  # pixels of a scale, in a table and in a card


class GroupView(NamedTuple):
    """A group in the page; its first rows are shown, and readers can unfold the others."""

    group: Group
    change: Change
    title: str
    operators: str
    scale: IntervalScale
    facts: list[tuple[str, str]]
    commits_url: str
    rows: ChangeTable
    left_out: int
    sums: list[Listing]
    is_open: bool
    notes: list[Note]


def html_text(report: Report) -> str:
    """The page; the same report always gives the same text."""
    return page_environment().get_template("page.html.jinja").render(body_parts(report))


def body_parts(report: Report) -> dict[str, object]:
    """The variables of ``body.html.jinja`` for a report.

    `triage` has the buttons for decisions about a group, by state, and `why` is the address of
    explanations; a page without a service has neither.
    """
    changed, grounds = changes(report), evidence(report)
    heading, more = split_summary(name_text(report.summary, MAX_TEXT))
    return {
        "report": report,
        "heading": heading,
        "more": more,
        "lead": lead_text(report),
        "tally": Tally("operator", report.tally),
        "parts": list(_views(report)),
        "tables": [
            ("changes", "Other changes", [table for table in changed if table.rows]),
            ("evidence", "Evidence", [table for table in grounds if table.rows]),
        ],
        "triage": {},
        "why": "",
        "drifts": [
            (figures.name_text(drift.device), drift_plot(drift))
            for drift in report.reference_drift[:MAX_DRIFTS]
        ],
    }


@cache
def page_environment(*packages: str) -> Environment:
    """Templates of pages, which escape every value: packages' own, and those of reports."""
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader(name) for name in (*packages, "tracehouse.queries.report")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        draw_axis=draw_axis,
        draw_icon=draw_icon,
        draw_interval=draw_interval,
        figures=figures,
        member_operator=member_operator,
        member_place=member_place,
        plots=plots,
        sheet=sheet,
        outline=outline,
        plotted=PLOTTED,
        shown=SHOWN,
        max_rows=MAX_ROWS,
        first_rows=FIRST_ROWS,
        page_rows=PAGE_ROWS,
    )
    return environment


def _show(value: object) -> object:
    """A value for the page; texts without control characters, and shortened if no addresses."""
    is_foreign = isinstance(value, str) and not isinstance(value, Markup)
    if is_foreign and str(value).startswith("/") and str(value).isascii():
        return figures.name_text(str(value), len(str(value)) + 1)
    return figures.name_text(str(value), figures.MAX_TEXT) if is_foreign else value


def _views(report: Report) -> Iterator[tuple[Section, list[GroupView]]]:
    """The sections with their groups; the first groups with a cost are unfolded."""
    room = MAX_OPEN
    for number, section in enumerate(sections(report)):
        views = []
        for group in section.groups:
            is_open = number < OPENED and is_card(group) and room > 0
            room -= is_open
            members = order_rows(group.members, group.explains)
            changes_ = [change_of_member(each, group) for each in members[: SHOWN + FOLDED]]
            change = change_of_group(group)
            views.append(
                GroupView(
                    group,
                    change,
                    place_title(group),
                    operators_text(group),
                    ChangeTable.of([change]).scale,
                    facts(group, report),
                    commits_url(group, report),
                    ChangeTable.of(changes_),
                    len(members) - len(changes_),
                    list_sums(group.breakdowns[:SUMS]),
                    is_open,
                    notes_on(group, report),
                )
            )
        yield section, views


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


def draw_icon(kind: Kind) -> Markup:
    """The icon of a verdict."""
    if not kind.icon:
        return Markup()
    drawn = ' fill="none" stroke-width="1.8" stroke-linecap="round"' if kind.is_drawn else ""
    return Markup(  # noqa: S704 - a constant
        f'<svg viewBox="0 0 10 10" aria-hidden="true"><path d="{kind.icon}"{drawn}/></svg>'
    )


def draw_interval(change: Change, scale: IntervalScale, *, has_ticks: bool = False) -> Markup:
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


def draw_axis(scale: IntervalScale) -> Markup:
    """The ticks of a scale, for the head of a table."""
    parts = [*draw_ticks(_ruler(scale), 11, _ROOM)]
    return Markup(draw_image(parts, width=None, height=14, text="", class_="iv ax"))  # noqa: S704 - numbers only


def _ruler(scale: IntervalScale) -> Ruler:
    return Ruler(Scale(scale.low, scale.high, 0, 100), scale.ticks, "%")
