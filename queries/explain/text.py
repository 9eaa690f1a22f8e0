"""An explanation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from queries.explain.content import Explanation, RunTimes
from queries.explain.wording import frame_rows, heading, hidden_text, listings, run_heading
from queries.report.figures import MAX_TEXT, count_text, name_text

_WIDTH = 100
_MOST_ROWS = 40  # of a table or tree
_MOST_CELL = 44  # letters of a cell


def plain_text(explanation: Explanation) -> str:
    """The explanation as text; the page and the JSON form have what is cut here."""
    return "".join(f"{line}\n" for line in _lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    yield from _wrapped(heading(explanation))
    yield f"alert {explanation.group.id}, as of {name_text(explanation.as_of)}"
    yield ""
    for finding in explanation.findings:
        yield from _wrapped(name_text(finding, MAX_TEXT), "- ")
    if hidden := hidden_text(explanation):
        yield f"- {hidden}"
    for times in explanation.times:
        yield from ("", *_wrapped(run_heading(times)))
        yield from _tree(times)
    for table in listings(explanation):
        if table.rows:
            yield from ("", table.title)
            yield from _table(table.columns, table.rows, table.numbers)
    yield from ("", "Reproduce")
    yield from (f"  {command}" for command in explanation.commands)


def _tree(times: RunTimes) -> Iterator[str]:
    rows = [
        (
            f"{'  ' * row.depth}{'* ' if row.frame.is_member else ''}{name_text(row.frame.name)}",
            *row[2:],
        )
        for row in frame_rows(times)
    ]
    columns = ("", "Base", "Head", "Change", "")
    return _table(columns, rows, frozenset(range(1, 4)), most_cell=80)


def _table(
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    numbers: frozenset[int],
    *,
    most_cell: int = _MOST_CELL,
) -> Iterator[str]:
    """Aligned columns; long cells go on in the next lines."""
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


def _cell(text: str, most: int) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    whole = text.lstrip()
    return wrap(whole, most, initial_indent=indent, subsequent_indent=indent) or [""]


def _wrapped(text: str, mark: str = "") -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_on_hyphens=False,
        break_long_words=False,
    )
