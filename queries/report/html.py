"""A report as one self-contained HTML page: no network, no script, plots included.

Names are always text in the page: the templates escape every value, and the page forbids the
browser to load or run anything. Changes have classes of the sheet and no style attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import svg
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tracehouse.queries.report import figures, outline, plots
from tracehouse.queries.report.change import Change, Kind, change_of_group, change_of_member
from tracehouse.queries.report.content import member_operator, member_place
from tracehouse.queries.report.drawing import Scale, picture, safe, scale_of
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
    from tracehouse.queries.report.content import Group, Member, Report
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
MAX_BUILDS = 40
_HEIGHT, _MIDDLE = 20, 10
_TICKS_AT = 32
_LETTERS, _CARD_LETTERS = 21, 40  # that fit below a scale, in a table and in a card


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
        draw_history=draw_history,
        draw_icon=draw_icon,
        draw_interval=draw_interval,
        figures=figures,
        member_operator=member_operator,
        member_place=member_place,
        plots=plots,
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


def changes_html(table: ChangeTable, *, is_open: bool = False) -> Markup:
    """The table of changes, and below it what is folded; it needs the classes of the sheet."""
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
    """The change and its interval on a scale, as wide as its place; grey is what cannot be seen."""
    parts = [*_zone(change, scale), *_zero(scale), *_span(change, scale)]
    if has_ticks:
        parts += _ticks(scale, _TICKS_AT, _CARD_LETTERS)
    text = change.percent if change.low is None else f"{change.percent}, between {change.between}"
    class_ = "iv t" if has_ticks else "iv"
    return _draw(parts, 36 if has_ticks else _HEIGHT, text, class_)


def draw_history(member: Member, first_bad: str) -> Markup:
    """The builds up to the head as a sparkline, washed since the change."""
    points = [point for point in member.history if point.value is not None][-MAX_BUILDS:]
    values = [float(point.value or 0.0) for point in points]
    if len(values) < 2:
        return Markup()
    across, up = Scale(0, len(values) - 1, 4, 356), scale_of(values, 60, 4)
    places = [(across(number), up(value)) for number, value in enumerate(values)]
    builds = [point.build for point in points]
    since = places[builds.index(first_bad)][0] - 10 if first_bad in builds else None
    path = "L".join(f"{x} {y}" for x, y in places)
    end = f"M{places[-1][0]} {places[-1][1]}h0"
    wash = (
        ""
        if since is None
        else (f'<rect class="since" x="{since:.1f}" y="0" width="{360 - since:.1f}" height="64"/>')
    )
    text = f"the last {len(values)} builds"
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="spark" viewBox="0 0 360 64" preserveAspectRatio="none" role="img" '
        f'aria-label="{text}">{wash}<path d="M{path}"/><path class="end" d="{end}"/></svg>'
    )


def draw_axis(scale: IntervalScale) -> Markup:
    """The ticks of a scale, for the head of a table."""
    return _draw(list(_ticks(scale, 11, _LETTERS)), 14, "", "iv ax")


def _draw(parts: list[svg.Element], height: int, text: str, class_: str) -> Markup:
    drawn = picture(parts, width=None, height=height, text=text, class_=class_)
    if not text:
        drawn = drawn.replace('role="img" aria-label=""', 'aria-hidden="true"')
    return Markup(drawn)  # noqa: S704 - texts are escaped where they are drawn


def _at(scale: IntervalScale, value: float) -> str:
    return f"{100 * scale(value):.1f}%"


def _zone(change: Change, scale: IntervalScale) -> Iterator[svg.Element]:
    if change.zone is None:
        return
    start, end = scale(-change.zone), scale(change.zone)
    yield svg.Rect(
        x=_at(scale, -change.zone),  # type: ignore[arg-type]
        y=2,
        width=f"{100 * (end - start):.1f}%",  # type: ignore[arg-type]
        height=16,
        class_=["zone"],
    )


def _line(start: str, end: str, tops: tuple[int, int], class_: str) -> svg.Element:
    return svg.Line(x1=start, x2=end, y1=tops[0], y2=tops[1], class_=[class_])  # type: ignore[arg-type]


def _zero(scale: IntervalScale) -> Iterator[svg.Element]:
    zero = _at(scale, 0.0)
    yield _line(zero, zero, (2, 18), "zero")


def _span(change: Change, scale: IntervalScale) -> Iterator[svg.Element]:
    ends = (change.low, change.high)
    if change.low is not None and change.high is not None:
        yield _line(_at(scale, change.low), _at(scale, change.high), (_MIDDLE, _MIDDLE), "span")
    if change.delta is not None and scale.low <= change.delta <= scale.high:
        yield svg.Circle(cx=_at(scale, change.delta), cy=_MIDDLE, r=4.5, class_=["dot"])  # type: ignore[arg-type]
    known = [each for each in (*ends, change.delta) if each is not None]
    if known and max(known) > scale.high:
        yield _tip("100%", "M-1 5l6 5-6 5z")
    if known and min(known) < scale.low:
        yield _tip("0", "M1 5l-6 5 6 5z")


def _tip(x: str, path: str) -> svg.Element:
    """An arrow where an interval leaves the scale."""
    return svg.SVG(
        x=x,  # type: ignore[arg-type]
        xmlns=None,
        elements=[svg.Path(d=path, class_=["tip"])],  # type: ignore[arg-type]
    )


def _ticks(scale: IntervalScale, y: int, letters: int) -> Iterator[svg.Element]:
    """The ticks with their texts, the last with its unit; those without room are left out."""
    last, begin = len(scale.ticks) - 1, math.inf
    drawn: list[svg.Element] = []
    for number, tick in reversed(list(enumerate(scale.ticks))):
        text = f"{100 * tick:,.10g}".replace("-", "−") + (" %" if number == last else "")
        place, width = scale(tick), len(text) / letters
        anchor = "end" if place > 1 - width / 2 else "start" if place < width / 2 else "middle"
        start = place - {"end": width, "start": 0, "middle": width / 2}[anchor]
        if start + width + 1 / letters <= begin:
            begin = start
            drawn.append(svg.Text(x=_at(scale, tick), y=y, text=safe(text), text_anchor=anchor))  # type: ignore[arg-type]
    yield from reversed(drawn)
