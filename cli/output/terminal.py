"""Tables on a terminal: columns that fit its width, and no row or digit lost unsaid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output.text import is_number, shown, text_columns

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 1000

_NARROWEST_TEXT = 16
_GAP = 2
_STYLES = {"regression": "red", "improvement": "green"}


class _Column(NamedTuple):
    name: str
    is_number: bool
    cells: list[str | None]

    @property
    def is_constant(self) -> bool:
        return len(set(self.cells)) == 1

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.name, *(cell or "" for cell in self.cells)))

    @property
    def least_width(self) -> int:
        return self.width if self.is_number else min(self.width, _NARROWEST_TEXT)


def print_table(table: pa.Table, *, console: Console | None = None) -> None:
    """Print at most MAX_ROWS rows, and say how many are left out.

    Where the table is too wide, columns that hold only one value move above it, then texts fold.
    Numbers never do: if need be, the table is wider than the terminal.
    """
    console = console or Console(highlight=False)
    if not table.num_rows:
        console.print("No rows.")
        return
    columns = _columns(table.slice(0, MAX_ROWS))
    if table.num_rows > 1 and _total(column.width for column in columns) > console.width:
        constant = [column for column in columns if column.is_constant]
        for column in constant:
            console.print(Text(f"{column.name}: {column.cells[0] or '-'}", "dim"))
        columns = [column for column in columns if not column.is_constant] or constant[:1]
    console.width = max(console.width, _total(column.least_width for column in columns))
    console.print(_grid(columns))
    if table.num_rows > MAX_ROWS:
        console.print(
            f"The first {MAX_ROWS:,} of {table.num_rows:,} rows; in a pipe or file you get all."
        )


def _columns(table: pa.Table) -> list[_Column]:
    cells: list[list[str | None]] = [[] for _ in table.column_names]
    for page in text_columns(table):
        for column, more in zip(cells, page, strict=True):
            column += more
    return [
        _Column(shown(field.name), is_number(field.type), column)
        for field, column in zip(table.schema, cells, strict=True)
    ]


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _grid(columns: list[_Column]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP - 1, 0, 0))
    for column in columns:
        grid.add_column(
            Text(column.name),
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number,
            overflow="fold",
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*(Text("-", "dim") if cell is None else _text(cell) for cell in row))
    return grid


def _text(cell: str) -> Text:
    return Text(cell, _STYLES.get(cell, ""))
