"""Tables as text for people: rounded numbers, readable times, aligned columns."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from tracehouse.queries.plain_values import BATCH_ROWS, plain_value, python_values, write_cells
from tracehouse.queries.printable import printable, shorten

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELL = 300  # characters

_DIGITS = (4, 6, 9)
_NAMING = ("_id", "_index", "ordinal")


def text_columns(table: pa.Table) -> Iterator[list[list[str | None]]]:
    """Cells of a few thousand rows at a time, one list per column; None for null."""
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        yield [
            _cells(name, column)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]


def shown(text: str) -> str:
    """The text escaped for display, and cut to MAX_CELL characters."""
    return shorten(printable(shorten(text, MAX_CELL)), MAX_CELL)


def is_number(type_: pa.DataType) -> bool:
    """Whether a column of this type is aligned to the right."""
    import pyarrow.types as types

    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def text_lines(table: pa.Table) -> Iterator[str]:
    """A line of column names and one per row; nulls are empty."""
    names: list[list[str | None]] = [[shown(name)] for name in table.column_names]
    widths = [_width(name) for name in names]
    for columns in text_columns(table):
        widths = [max(width, _width(cells)) for width, cells in zip(widths, columns, strict=True)]
    aligned = [is_number(field.type) for field in table.schema]
    for columns in chain([names], text_columns(table)):
        padded = map(_padded, columns, widths, aligned)
        yield from ("  ".join(row).rstrip() for row in zip(*padded, strict=True))


def _width(cells: Sequence[str | None]) -> int:
    return max((_places(cell) for cell in cells if cell), default=0)


def _places(text: str) -> int:
    """Width of a text on a terminal, where some characters take two places and some none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(cells: Sequence[str | None], width: int, is_right: bool) -> list[str]:
    pad = str.rjust if is_right else str.ljust
    texts = [cell or "" for cell in cells]
    return [pad(text, width + len(text) - _places(text)) for text in texts]


def _cells(name: str, column: pa.Array) -> list[str | None]:
    """The cells; numbers are rounded, with enough digits to differ from the cell above."""
    import pyarrow.types as types

    if not types.is_floating(column.type):
        return write_cells(
            name, column, lambda value: None if value is None else _cell(name, value)
        )
    values = python_values(name, column)
    for digits in _DIGITS:
        cells = [_rounded(value, digits) if isinstance(value, float) else value for value in values]
        pairs = zip(pairwise(values), pairwise(cells), strict=True)
        if all(one != other or a == b or a != a for (a, b), (one, other) in pairs):  # NaN too
            break
    return cells


def _cell(name: str, value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value) if name.endswith(_NAMING) else f"{value:,}"
        case float():
            return _rounded(value, _DIGITS[0])
        case str():
            return shown(value)
        case datetime.datetime():
            return value.isoformat(" ", "seconds").replace("+00:00", "Z")
    plain = plain_value(value)
    if isinstance(plain, int | float):
        return _cell(name, plain)
    return shown(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))


def _rounded(value: float, digits: int) -> str:
    """The value with this many significant digits, and all digits before the point."""
    if not 1000 <= abs(value) < 1e18:
        return f"{value:.{digits}g}"
    before = len(f"{abs(value):.0f}")
    return f"{value:,.{max(0, digits - before)}f}"
