"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from tracehouse.queries.report.breakdown import Breakdown
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.tables import list_sums

_MOST_ROWS = 40
_MOST_CELL = 44  # letters of a cell


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
