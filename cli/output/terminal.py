"""Tables that fit the width of a terminal, with names and numbers in full."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracehouse.queries.cells import columns_of, lift_constants, short_headings, text_columns

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 1000

_NARROWEST_TEXT = 16
_WORD = re.compile(r"#?[^\W_]+(?:(?!#)[\W_])*|(?:(?!#[^\W_])[\W_])+")
_GAP = 2
_LEAST_GROUP = 3  # rows of a group on average
_ALL = slice(None)
_STYLES = {"regression": "red", "improvement": "green"}


@dataclass(frozen=True)
class _Column:
    name: str
    is_number: bool
    cells: list[str | None]
    is_whole: bool = False  # never folded, as a number

    @cached_property
    def width(self) -> int:
        return max(cell_len(self.name), self.cell_width)

    @cached_property
    def cell_width(self) -> int:
        return max(cell_len(cell or "-") for cell in set(self.cells))

    @cached_property
    def word_width(self) -> int:
        """Width of the longest word, which is that of the name if the cells are whole."""
        texts = {self.name} if self.is_whole else {self.name, *(c or "" for c in self.cells)}
        return max(cell_len(word.rstrip()) for text in texts for word in _words(text))

    def least_width(self, whole: int) -> int:
        """Width at which numbers, and words up to half of the table's width, stay unbroken."""
        if self.is_whole:
            return max(self.word_width, self.cell_width)
        return min(self.width, max(_NARROWEST_TEXT, min(self.word_width, whole // 2)))


def print_table(table: pa.Table, query: str = "", *, console: Console | None = None) -> None:
    """Print at most MAX_ROWS rows, and how many are left out.

    In the answer of a canned query, and where a table is too wide, what all rows have in common is
    printed once above it. If it is still too wide, texts and column names are folded between words.
    In the answer of a canned query, the first columns then become headings of groups of rows, and
    columns that still do not fit are named below. Those of other tables follow below, in parts that
    begin with the text that tells most rows apart.
    """
    console = console or Console(highlight=False)
    if not table.num_rows:
        console.print("No rows.")
        return
    columns = _columns(table.slice(0, MAX_ROWS), query)
    if query or _total(column.width for column in columns) > console.width:
        common, rows = lift_constants(table, query)
        if common:
            console.print(Text(common, "dim"))
            columns = _columns(rows.slice(0, MAX_ROWS), query)
    if query:
        _print_groups(columns, console)
    else:
        _print_parts(columns, console)
    if table.num_rows > MAX_ROWS:
        console.print(
            f"The first {MAX_ROWS:,} of {table.num_rows:,} rows; pipes and files get all of them."
        )


def _print_groups(columns: list[_Column], console: Console) -> None:
    width = console.width
    lead = _lead(columns, width)
    shown, left = _fitting(columns[lead:], width)
    widths = _widths(shown, width)
    keys = list(zip(*(column.cells for column in columns[:lead]), strict=True))
    console.width = max(width, _total(widths))
    console.print(_grid(shown, widths, slice(0, 0)) if lead else _grid(shown, widths))
    start = 0
    for key, same in groupby(keys):
        stop = start + len(list(same))
        console.print(Text(" · ".join(cell or "-" for cell in key), "bold"), soft_wrap=True)
        console.print(_grid(shown, widths, slice(start, stop), has_head=False))
        start = stop
    console.width = width
    if left:
        names = ", ".join(column.name for column in left)
        console.print(Text(f"no room for {names}: widen the terminal, or --format markdown", "dim"))


def _lead(columns: list[_Column], width: int) -> int:
    """How many of the first columns head groups of rows: so many that the others fit."""
    row_count = len(columns[0].cells)
    found = 0
    for count in range(1, len(columns)):
        if columns[count - 1].is_number or not _fitting(columns[found:], width)[1]:
            break
        keys = zip(*(column.cells for column in columns[:count]), strict=True)
        if sum(1 for _ in groupby(keys)) * _LEAST_GROUP > row_count:
            break
        found = count
    return found


def _fitting(columns: list[_Column], width: int) -> tuple[list[_Column], list[_Column]]:
    """The columns that fit the width, and the others; the first one is never left out."""
    shown, left = columns[:1], columns[:0]
    for column in columns[1:]:
        fits = _total(one.least_width(width) for one in (*shown, column)) <= width
        (shown if fits else left).append(column)
    return shown, left


def _print_parts(columns: list[_Column], console: Console) -> None:
    width = console.width
    for number, part in enumerate(_parts(columns, width)):
        widths = _widths(part, width)
        console.width = max(width, _total(widths))
        if number:
            console.print()
        console.print(_grid(part, widths))


def _parts(columns: list[_Column], width: int) -> list[list[_Column]]:
    """The columns in parts that fit the width, if single columns do.

    Each part after the first begins with the text that tells most rows apart.
    """
    texts = [column for column in columns if not column.is_number]
    key = max(texts or columns[:1], key=lambda column: len(set(column.cells)))
    parts = [[columns[0]]]
    for column in columns[1:]:
        if _total(other.least_width(width) for other in (*parts[-1], column)) <= width:
            parts[-1].append(column)
        else:
            is_narrow = _total((key.least_width(width), column.least_width(width))) <= width
            is_key_left = column is not key and any(key in part for part in parts)
            parts.append([key, column] if is_narrow and is_key_left else [column])
    return parts


def _widths(columns: list[_Column], width: int) -> list[int]:
    """The width of each column; spare width goes first to columns that need the least more."""
    widths = [column.least_width(width) for column in columns]
    left = width - _total(widths)
    for i in sorted(range(len(columns)), key=lambda i: columns[i].width - widths[i]):
        more = max(0, min(left, columns[i].width - widths[i]))
        widths[i] += more
        left -= more
    return widths


def _words(text: str) -> list[str]:
    """The text in pieces between which a line may break."""
    return _WORD.findall(text) or [""]


def _folded(text: str, width: int) -> str:
    """The text in lines of that width, broken between words where possible."""
    if cell_len(text) <= width:
        return text.rstrip()
    lines = [""]
    for word in _words(text):
        if lines[-1] and cell_len(lines[-1]) + cell_len(word.rstrip()) > width:
            lines.append("")
        first, *rest = _cut(word, width)
        lines[-1] += first
        lines += rest
    return "\n".join(line.rstrip() for line in lines)


def _cut(word: str, width: int) -> list[str]:
    """The word in pieces of at most that width."""
    pieces = [""]
    for character in word:
        if pieces[-1] and cell_len(pieces[-1] + character) > width and not character.isspace():
            pieces.append("")
        pieces[-1] += character
    return pieces


def _columns(table: pa.Table, query: str) -> list[_Column]:
    import pyarrow.types as types

    columns = columns_of(table, query)
    cells: list[list[str | None]] = [[] for _ in columns]
    for page in text_columns(table, columns):
        for column, more in zip(cells, page, strict=True):
            column += more
    return [
        _Column(name, column.is_number, own, column.is_number or types.is_timestamp(field.type))
        for name, column, own, field in zip(
            short_headings(columns), columns, cells, table.schema, strict=True
        )
    ]


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _grid(
    columns: list[_Column], widths: list[int], rows: slice = _ALL, *, has_head: bool = True
) -> Table:
    grid = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        show_header=has_head,
        padding=(0, _GAP - 1, 0, 0),
    )
    for column, width in zip(columns, widths, strict=True):
        grid.add_column(
            Text(_folded(column.name, width)),
            justify="right" if column.is_number else "left",
            no_wrap=True,
            overflow="fold",
            width=width,
        )
    for row in zip(*(column.cells[rows] for column in columns), strict=True):
        grid.add_row(*map(_text, row, widths))
    return grid


def _text(cell: str | None, width: int) -> Text:
    if cell is None:
        return Text("-", "dim")
    return Text(_folded(cell, width), _STYLES.get(cell, ""))
