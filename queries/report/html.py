"""A report as one HTML page that needs nothing else: no network, no script, its plots inside.

Whatever a name holds, it is text in the page: the templates escape every value, and the page tells
the browser to load and run nothing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from queries.report import figures
from queries.report.outline import SIGNS, STATES, facts, outline, range_text, verdict_text
from queries.report.plots import history_plot, interval_plot, strip_plot
from queries.report.sight import Sight
from queries.report.tables import changes, evidence

if TYPE_CHECKING:
    from queries.report.content import Group, Member, Report

PLOTTED = 2  # members of a group
SHOWN = 5  # members in a group's table
FOLDED = 19  # members behind it, unfolded at will
MAX_OPEN = 12  # groups unfolded from the start
MAX_ROWS = 250  # of any other table


class MemberRow(NamedTuple):
    """A line of a group's table."""

    place: str
    operator: str
    module: str | None
    base: str
    head: str
    delta: str
    interval: str
    plot: str
    cost: str
    p_adjusted: str


class PlottedSeries(NamedTuple):
    """A member with its plots."""

    place: str
    operator: str
    counts: str
    strip: str
    history: str
    rule: str


class GroupView(NamedTuple):
    """A group as the page shows it; a text for each thing it says."""

    group: Group
    state: str
    sign: str
    since: str
    size: str
    facts: list[tuple[str, str]]
    series: list[PlottedSeries]
    shown: list[MemberRow]
    folded: list[MemberRow]
    cut: int
    explains: list[MemberRow]
    is_open: bool


class Chapter(NamedTuple):
    """A section of groups."""

    anchor: str
    title: str
    groups: list[GroupView]
    empty: str


def html_text(report: Report) -> str:
    """The page; the same report always gives the same text."""
    return page_environment().get_template("page.html.jinja").render(body_parts(report))


def body_parts(report: Report) -> dict[str, object]:
    """What ``body.html.jinja`` shows of a report, by the names it has there."""
    changed, grounds = changes(report), evidence(report)
    return {
        "report": report,
        "verdict": verdict_text(report),
        "tiles": _tiles(report),
        "parts": _parts(report),
        "tables": [
            ("changes", "Other changes", [table for table in changed if table.rows]),
            ("evidence", "What this rests on", [table for table in grounds if table.rows]),
        ],
        "max_rows": MAX_ROWS,
    }


@cache
def page_environment(package: str = "") -> Environment:
    """Templates of pages, which escape every value: a package's own, and those of reports."""
    packages = [name for name in (package, "queries.report") if name]
    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """What stands in the page for a value: texts without characters that would steer a reader."""
    is_foreign = isinstance(value, str) and not isinstance(value, Markup)
    return figures.name_text(str(value), figures.MAX_TEXT) if is_foreign else value


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures at the top: kind, number and what it counts."""
    parts, coverage = outline(report), report.coverage
    counts = [
        ("bad", len(parts.failures), "regression"),
        ("warn", len(parts.environment), "with another environment"),
        ("warn", len(parts.suspects), "suspect"),
        ("good", len(parts.improvements), "improvement"),
        ("", coverage.judged_count, f"of {coverage.series_count:,} series judged"),
        ("warn", Sight.of(report.sensitivity).blind, f"of {coverage.model_count:,} models blind"),
        ("", coverage.device_count, "device"),
        ("", coverage.model_count, "model"),
        ("", coverage.dump_count, "dump"),
        ("warn", len(coverage.missing), "without data"),
    ]
    return [
        (kind if count else "", f"{count:,}", what if " " in what or count == 1 else f"{what}s")
        for kind, count, what in counts
    ]


def _parts(report: Report) -> list[Chapter]:
    parts = outline(report)
    bad = _views(parts.failures, MAX_OPEN)
    room = max(0, MAX_OPEN - len(bad))
    return [
        Chapter("regressions", "Regressions", bad, "None is confirmed."),
        Chapter(
            "environment", "Came with another environment", _views(parts.environment, room), ""
        ),
        Chapter("suspects", "Suspects", _views(parts.suspects, room), ""),
        Chapter("improvements", "Improvements", _views(parts.improvements, 0), ""),
        Chapter("settled", "Acknowledged, accepted and fixed", _views(parts.settled, 0), ""),
    ]


def _views(groups: list[Group], open_count: int) -> list[GroupView]:
    return [_view(group, is_open=i < open_count) for i, group in enumerate(groups)]


def _view(group: Group, *, is_open: bool) -> GroupView:
    shown = group.members[: SHOWN + FOLDED]
    rows = _rows(shown)
    return GroupView(
        group=group,
        state=STATES[group.state],
        sign=SIGNS[group.direction],
        since=range_text(group),
        size=_size(group),
        facts=facts(group),
        series=[_series(member, group.first_bad) for member in group.members[:PLOTTED]],
        shown=rows[:SHOWN],
        folded=rows[SHOWN:],
        cut=len(group.members) - len(shown),
        explains=_rows(group.explains[:SHOWN]),
        is_open=is_open,
    )


def _size(group: Group) -> str:
    """What groups are ranked by, else the change."""
    line = group.headline
    has_cost = line.cost_ns is not None
    return figures.cost_text(line.cost_ns) if has_cost else figures.delta_text(line.delta)


def _rows(members: list[Member]) -> list[MemberRow]:
    """Lines whose plots have one scale."""
    ends = [0.0]
    for member in members:
        ends += (x for x in (member.delta, member.delta_low, member.delta_high) if x is not None)
    return [_row(member, min(ends), max(ends)) for member in members]


def _row(member: Member, low: float, high: float) -> MemberRow:
    p = member.p_adjusted
    return MemberRow(
        place=figures.member_place(member),
        operator=figures.member_operator(member),
        module=member.module_path,
        base=figures.duration_text(member.base_ns),
        head=figures.duration_text(member.head_ns),
        delta=figures.delta_text(member.delta),
        interval=figures.interval_text(member.delta_low, member.delta_high),
        plot=interval_plot(member, low, high),
        cost=figures.cost_text(member.cost_ns),
        p_adjusted=figures.NONE if p is None else f"{p:.2g}",
    )


def _series(member: Member, first_bad: str) -> PlottedSeries:
    base, head = len(member.base_values), len(member.head_values)
    return PlottedSeries(
        place=figures.member_place(member),
        operator=figures.member_operator(member),
        counts=f"{figures.count_text(base, 'dump')} of the base, {head:,} of the head",
        strip=strip_plot(member),
        history=history_plot(member, first_bad),
        rule=member.rule,
    )
