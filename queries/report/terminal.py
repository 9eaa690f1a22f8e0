"""A report on a terminal: the verdict, the alerts, the next command; and its tables of text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from tracehouse.queries.report.breakdown import Breakdown
from tracehouse.queries.report.change import Change, ChangeTable, change_of_group
from tracehouse.queries.report.change_text import MAX_WIDTH, Line, Span, terminal_lines
from tracehouse.queries.report.figures import MAX_TEXT, count_text, name_text
from tracehouse.queries.report.outline import next_step, range_text, sections, standing_text
from tracehouse.queries.report.sentences import lead_text
from tracehouse.queries.report.tables import list_sums
from tracehouse.queries.report.tally import Tally

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Report


_MOST_ROWS = 40
_MOST_CELL = 44  # letters of a cell

_MOST_ALERTS = 8  # of a section


def table_lines(
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    numbers: Collection[int],
    *,
    most_cell: int = _MOST_CELL,
) -> Iterator[str]:
    """Aligned columns; long cells go on in the next lines, and many rows are cut."""
    shown = [[_cell(cell, most_cell) for cell in row] for row in (columns, *rows[:_MOST_ROWS])]
    widths = [
        max(len(line) for row in shown for line in row[place]) for place in range(len(columns))
    ]
    for row in shown:
        for line in zip_longest(*row, fillvalue=""):
            cells = (
                text.rjust(width) if place in numbers else text.ljust(width)
                for place, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            yield f"  {'  '.join(cells)}".rstrip()
    if len(rows) > _MOST_ROWS:
        yield f"  and {count_text(len(rows) - _MOST_ROWS, 'more row')}"


def sum_lines(breakdowns: Sequence[Breakdown]) -> Iterator[str]:
    """What the change of each method consists of, each after an empty line."""
    for table in list_sums(breakdowns):
        yield from ("", table.title)
        yield from table_lines(table.columns, table.rows, table.numbers)


def _cell(text: str, most: int) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    whole = text.lstrip()
    return wrap(whole, most, initial_indent=indent, subsequent_indent=indent) or [""]


def report_lines(report: Report, *, width: int = MAX_WIDTH) -> list[Line]:
    """The verdict in a sentence, a row for each alert, and what to do next."""
    width = min(width, MAX_WIDTH)
    lines: list[Line] = [[Span(text, "bold")] for text in wrap(_shown(report.summary), width)]
    lines += [[Span(text, "dim")] for text in wrap(lead_text(report), width)]
    tally = Tally("operator", report.tally)
    lines += [[Span(text, "dim")] for text in wrap(tally.text, width) if tally.total]
    for note in report.notes:
        lines += [[Span(text, "yellow")] for text in wrap(f"note: {_shown(note)}", width)]
    for section in sections(report):
        if section.groups:
            lines += [[], [Span(section.title, "bold"), Span(f"   {section.note}", "dim")]]
            lines += _alerts(section.groups, width)
    return [*lines, [], *_steps(report, width)]


def _alerts(groups: list[Group], width: int) -> Iterator[Line]:
    table = ChangeTable.of(map(_alert, groups[:_MOST_ALERTS]))
    yield from terminal_lines(table, width=width)
    if len(groups) > _MOST_ALERTS:
        more = count_text(len(groups) - _MOST_ALERTS, "more alert")
        yield [Span(f"  {more} in the page", "dim")]


def _alert(group: Group) -> Change:
    """The dearest change of an alert, and what else it is about."""
    line = group.headline
    more = line.member_count - 1
    parts = [
        f"alert {group.id}",
        f"and {count_text(more, 'more change')}" if more else "",
        f"on {count_text(line.device_count, 'device')}" if line.device_count > 1 else "",
        range_text(group),
        standing_text(group) if group.direction == "regression" else "",
    ]
    return change_of_group(group)._replace(note=", ".join(filter(None, parts)))


def _steps(report: Report, width: int) -> Iterator[Line]:
    """The next command of the first alert to act on, and where everything is."""
    acting = [group for section in sections(report)[:2] for group in section.groups]
    if acting:
        step = next_step(acting[0], report)
        if step is not None and acting[0].commands:
            yield [Span("why:  ", "dim"), Span(_shown(acting[0].commands[0]))]
        for number, text in enumerate(wrap(step or "", width - 6)):
            yield [Span("      " if number else "next: ", "dim"), Span(text)]
    base = "" if report.kind == "nightly" else f"--base {_shown(report.base[0])} "
    command = f"tracehouse report {base}--head {_shown(report.head)} --output report.html"
    yield [Span("page: ", "dim"), Span(command)]


def _shown(text: str) -> str:
    return name_text(text, MAX_TEXT)
