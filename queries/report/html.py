"""A report as one self-contained HTML page: no network, no script, plots included.

Names are always text in the page: the templates escape every value, and the page forbids the
browser to load or run anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tracehouse.queries.report import change_html, figures, outline, plots
from tracehouse.queries.report.headline import order_rows
from tracehouse.queries.report.outline import (
    Section,
    commits_url,
    facts,
    is_card,
    notes_on,
    sections,
    sort_groups,
    verdict_text,
)
from tracehouse.queries.report.plots import drift_plot, interval_ends
from tracehouse.queries.report.sensitivity_summary import SensitivitySummary
from tracehouse.queries.report.tables import changes, evidence, list_sums

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Member, Report
    from tracehouse.queries.report.notes import Note
    from tracehouse.queries.report.tables import Listing

PLOTTED = 2  # members of a group
SUMS = 6  # methods of a group, of which the first is not folded
SHOWN = 5  # members in a group's table
FOLDED = 19  # further members, which readers can unfold
OPENED = 2  # sections whose groups may be unfolded
MAX_OPEN = 12  # groups unfolded from the start
MAX_DRIFTS = 40  # devices whose reference is plotted
MAX_ROWS = 1000  # of any other table
PAGE_ROWS = 50  # of them in a part of a table; readers unfold the other parts


class GroupView(NamedTuple):
    """A group in the page; its first rows are shown, and readers can unfold the others."""

    group: Group
    facts: list[tuple[str, str]]
    commits_url: str
    rows: list[Member]
    sums: list[Listing]
    ends: tuple[float, float]
    is_card: bool
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
    return {
        "report": report,
        "verdict": verdict_text(report),
        "tiles": _tiles(report),
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
        finalize=_shown,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        change_html=change_html,
        figures=figures,
        plots=plots,
        outline=outline,
        plotted=PLOTTED,
        shown=SHOWN,
        max_rows=MAX_ROWS,
        page_rows=PAGE_ROWS,
    )
    return environment


def _shown(value: object) -> object:
    """A value for the page; texts without control characters."""
    is_foreign = isinstance(value, str) and not isinstance(value, Markup)
    return figures.name_text(str(value), figures.MAX_TEXT) if is_foreign else value


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures at the top: kind, number and label."""
    parts, coverage = sort_groups(report.groups), report.coverage
    counts = [
        ("bad", len(parts.failures), "regression"),
        ("warn", len(parts.environment), "with another environment"),
        ("warn", len(parts.suspects), "suspect"),
        ("good", len(parts.improvements), "improvement"),
        ("", coverage.judged_count, f"of {coverage.series_count:,} series judged"),
        (
            "warn",
            SensitivitySummary.of(report.sensitivity).blind,
            f"of {figures.count_text(coverage.model_count, 'model')} blind",
        ),
        ("", coverage.device_count, "device"),
        ("", coverage.model_count, "model"),
        ("", coverage.dump_count, "dump"),
        ("warn", len(coverage.missing), "without data"),
    ]
    return [
        (kind if count else "", f"{count:,}", what if " " in what or count == 1 else f"{what}s")
        for kind, count, what in counts
    ]


def _views(report: Report) -> Iterator[tuple[Section, list[GroupView]]]:
    """The sections with their groups; the first groups with a cost are unfolded."""
    room = MAX_OPEN
    for number, section in enumerate(sections(report)):
        views = []
        for group in section.groups:
            is_open = number < OPENED and is_card(group) and room > 0
            room -= is_open
            rows = order_rows(group.members, group.explains)[: SHOWN + FOLDED]
            views.append(
                GroupView(
                    group,
                    facts(group, report),
                    commits_url(group, report),
                    rows,
                    list_sums(group.breakdowns[:SUMS]),
                    interval_ends(rows),
                    is_card(group),
                    is_open,
                    notes_on(group, report),
                )
            )
        yield section, views
