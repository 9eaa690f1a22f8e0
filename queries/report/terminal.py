"""A report on a terminal: the verdict, the alerts, the next command; and its tables of text.

Changes take at most 100 columns, and are plain ASCII where a terminal knows no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import combining, east_asian_width

from tracehouse.queries.report.change import Change, change_of_group
from tracehouse.queries.report.figures import MAX_TEXT, OperatorName, count_text, name_text
from tracehouse.queries.report.outline import Tally, next_step, range_text, sections, standing_text
from tracehouse.queries.report.parts import Breakdown
from tracehouse.queries.report.sentences import lead_text
from tracehouse.queries.report.tables import ChangeTable, IntervalScale, list_sums

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Report

_MOST_ROWS = 40
_MOST_CELL = 44  # letters of a cell
_MOST_ALERTS = 8  # alerts of a section
MAX_WIDTH = 100
CELLS = 20  # letters of the bar of an interval
_LEAST_NAME = 12
_PLAIN = str.maketrans({"µ": "u", "−": "-", "→": "->", "…": "...", "·": "/", "×": "x", "–": "-"})


def table_lines(
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    numbers: Collection[int],
    *,
    most_cell: int = _MOST_CELL,
) -> Iterator[str]:
    """Aligned columns; long cells go on in the next lines, and many rows are cut."""
    shown = [[_wrap_cell(cell, most_cell) for cell in row] for row in (columns, *rows[:_MOST_ROWS])]
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


def _wrap_cell(text: str, most: int) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    whole = text.lstrip()
    return wrap(whole, most, initial_indent=indent, subsequent_indent=indent) or [""]


def report_lines(report: Report, *, width: int = MAX_WIDTH) -> list[Line]:
    """The verdict in a sentence, a row for each alert, and what to do next."""
    width = min(width, MAX_WIDTH)
    lines: list[Line] = [[Span(text, "bold")] for text in wrap(_show(report.summary), width)]
    lines += [[Span(text, "dim")] for text in wrap(lead_text(report), width)]
    tally = Tally("operator", report.tally)
    lines += [[Span(text, "dim")] for text in wrap(tally.text, width) if tally.total]
    for note in report.notes:
        lines += [[Span(text, "yellow")] for text in wrap(f"note: {_show(note)}", width)]
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
            yield [Span("why:  ", "dim"), Span(_show(acting[0].commands[0]))]
        for number, text in enumerate(wrap(step or "", width - 6)):
            yield [Span("      " if number else "next: ", "dim"), Span(text)]
    base = "" if report.kind == "nightly" else f"--base {_show(report.base[0])} "
    command = f"tracehouse report {base}--head {_show(report.head)} --output report.html"
    yield [Span("page: ", "dim"), Span(command)]


def _show(text: str) -> str:
    return name_text(text, MAX_TEXT)


class Span(NamedTuple):
    """A piece of a line, and its style: a colour, bold, dim, or none."""

    text: str
    style: str = ""


Line = list[Span]


def terminal_lines(table: ChangeTable, *, width: int = MAX_WIDTH) -> list[Line]:
    """The changes of a table, a line each, below the scale of their intervals.

    Names are cut before their number, places at their end; nothing is wider than `width`.
    """
    return _lines(table, table.changes, width)


def folded_lines(table: ChangeTable, *, width: int = MAX_WIDTH) -> list[Line]:
    """The rows that are folded, likewise."""
    return _lines(table, table.folded, width)


def plain_lines(table: ChangeTable, changes: Sequence[Change] | None = None) -> list[str]:
    """The changes of a table in ASCII, with intervals as numbers; names are whole."""
    rows = [_plain_row(table, one) for one in (table.changes if changes is None else changes)]
    widths = [max((len(row[place]) for row, _ in rows), default=0) for place in range(7)]
    lines = []
    for cells, change in rows:
        aligned = (
            cell.rjust(width) if place in (3, 4, 6) else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        lines.append("  ".join(aligned).rstrip())
        if change.speeds is not None and change.kind.is_change:
            lines.append(f"{' ' * (widths[0] + 2)}{ascii_text(change.speeds.line)}")
        if change.note:
            lines.append(f"{' ' * (widths[0] + 2)}{ascii_text(change.note)}")
    return lines


def ascii_text(text: str) -> str:
    """The signs of our own texts as ASCII; names keep their letters.

    >>> ascii_text("2.9 → 3.1 µs, −4 %")
    '2.9 -> 3.1 us, -4 %'
    """
    return text.translate(_PLAIN)


def cell_len(text: str) -> int:
    """The width of a text on a terminal, in cells.

    >>> cell_len("µs"), cell_len("模型")
    (2, 4)
    """
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def line_text(line: Line) -> str:
    """A line without its styles."""
    return "".join(span.text for span in line).rstrip()


def _plain_row(table: ChangeTable, change: Change) -> tuple[tuple[str, ...], Change]:
    base, head, unit = change.levels
    cost = "" if change.cost_ns is None else f"{table.cost(change)} {table.cost_unit}"
    ends = (change.low, change.high)
    between = "" if None in ends else f"[{', '.join(_end(each) for each in ends)}]"
    cells = (
        change.word,
        str(change.operator),
        table.where(change),
        f"{base} → {head} {unit}".rstrip(),
        "" if change.delta is None else change.percent,
        between,
        cost,
    )
    return tuple(map(ascii_text, cells)), change


def _end(value: float | None) -> str:
    return f"{100 * (value or 0.0):+,.1f}"


def _lines(table: ChangeTable, changes: Sequence[Change], width: int) -> list[Line]:
    if not changes:
        return []
    levels = [change.levels for change in changes]
    sizes = [max(cell_len(level[place]) for level in levels) for place in range(3)]
    costs = [table.cost(change) for change in changes]
    cost_width = max(*map(len, costs), len(_cost_name(table)))
    percent_width = max(len(change.percent) for change in changes)
    word_width = max(len(change.word) for change in changes)
    fixed = 2 + sizes[0] + 3 + sizes[1] + 1 + sizes[2] + 2 + percent_width + 2 + CELLS + 2
    fixed += cost_width + 2 + word_width + 2
    names, places = _share_room(changes, [table.where(one) for one in changes], width - fixed)
    before = 2 + names + 1 + places + 1
    middle = sizes[0] + 3 + sizes[1] + 1 + sizes[2] + 2 + percent_width + 2
    head = f"{'base'.rjust(sizes[0])}   {'head'.rjust(sizes[1])}".ljust(middle)
    ruler = _ruler(table.scale)
    header = f"{' ' * before}{head}{ruler}  {_cost_name(table).rjust(cost_width)}"
    lines: list[Line] = [[Span(header, "dim")]]
    for change, (base, now, unit), cost in zip(changes, levels, costs, strict=True):
        style = change.kind.style
        is_loud = change.kind.is_change
        name = _fit_name(change.operator, names)
        lines.append(
            [
                Span(f"{change.kind.glyph} ", style),
                Span(name + " " * (names - cell_len(name) + 1), "bold" if is_loud else "dim"),
                Span(_pad(_cut(table.where(change), places), places + 1), "" if is_loud else "dim"),
                Span(f"{base.rjust(sizes[0])} → ", "dim"),
                Span(f"{now.rjust(sizes[1])} {unit.ljust(sizes[2])}  "),
                Span(f"{change.percent.rjust(percent_width)}  ", style),
                *_bar(change, table.scale),
                Span(f"  {cost.rjust(cost_width)}"),
                Span(f"  {change.word}", style),
            ]
        )
        if change.speeds is not None and is_loud:
            lines.append([Span(f"  {_cut(change.speeds.line, width - 2)}", "dim")])
        if change.note:
            lines.append([Span(f"  {_cut(change.note, width - 2)}", "dim")])
    return lines


def _cost_name(table: ChangeTable) -> str:
    return f"{table.cost_unit}/run"


def _share_room(changes: Sequence[Change], wheres: Sequence[str], room: int) -> tuple[int, int]:
    """The widths of names and places: as wide as they are, else places give way first."""
    name = max(cell_len(str(change.operator)) for change in changes)
    place = max(map(cell_len, wheres))
    if name + place <= room:
        return name, place
    half = max(room // 2, _LEAST_NAME)
    name = min(name, max(half, room - place))
    return name, max(min(place, room - name), 1)


def _fit_name(operator: OperatorName, width: int) -> str:
    """A name cut before its number: 'max_pool2d_w… #1'."""
    whole = str(operator)
    if cell_len(whole) <= width:
        return whole
    tail = whole.removeprefix(operator.name)
    room = width - cell_len(tail)
    return _cut(whole, width) if room < 2 else f"{_cut(operator.name, room)}{tail}"


def _cut(text: str, width: int) -> str:
    """A text of at most so many cells; a longer one ends in an ellipsis."""
    if cell_len(text) <= width:
        return text
    kept = text
    while kept and cell_len(kept) >= width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…" if width else ""


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _cell(scale: IntervalScale, value: float) -> int:
    return round(scale(value) * (CELLS - 1))


def _ruler(scale: IntervalScale) -> str:
    """Ticks in percent above the bars, as many as fit."""
    cells, end = [" "] * CELLS, 0
    for number, tick in enumerate(scale.ticks):
        digits = f"{100 * tick:,.10g}".replace("-", "−")
        text = f"{digits} %" if number == len(scale.ticks) - 1 else digits
        start = max(0, min(_cell(scale, tick) - len(digits) // 2, CELLS - len(text)))
        if start >= end:
            cells[start : start + len(text)] = text
            end = start + len(text) + 1
    return "".join(cells)


def _bar(change: Change, scale: IntervalScale) -> Iterator[Span]:
    """The interval of a change in 20 cells: a dot, a line, and zero."""
    cells = [(" ", "dim")] * CELLS
    style = change.kind.style
    if change.low is not None and change.high is not None:
        line = "━" if change.kind.is_change else "╌"
        for cell in range(_cell(scale, change.low), _cell(scale, change.high) + 1):
            cells[cell] = (line, style)
    cells[_cell(scale, 0.0)] = ("│", "dim")
    if change.delta is not None:
        sign = "●" if scale.low <= change.delta <= scale.high else "◂" if change.delta < 0 else "▸"
        cells[_cell(scale, change.delta)] = (sign, style)
    text, own = "", cells[0][1]
    for letter, each in cells:
        if each != own:
            yield Span(text, own)
            text, own = "", each
        text += letter
    yield Span(text, own)
