"""Tables for people: rounded numbers with units, readable times, aligned columns."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from tracehouse.queries.plain_values import BATCH_ROWS, plain_value, python_values, write_cells
from tracehouse.queries.printable import printable, shorten

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELL = 300  # characters

_DIGITS = (4, 6, 9)
_NAMING = ("_id", "_index", "ordinal")
# Units of numbers by the end of a column's name, the largest first.
_UNITS = {
    "_ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "_bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
}
_SHARES = {"delta", "delta_low", "delta_high", "change"}


def arrange_columns(table: pa.Table, *, has_all: bool = False) -> pa.Table:
    """The table without what tells people nothing.

    An event that is called by its delegate id has that once. Columns that are null in all rows are
    left out, unless `has_all`, as in answers of SQL, whose columns somebody chose.
    """
    if has_all or not table.num_rows:
        return table
    names = table.column_names
    if {"event_name", "delegate_id"} <= set(names):
        pairs = zip(table["event_name"].to_pylist(), table["delegate_id"].to_pylist(), strict=True)
        ids = [None if name == id_ else id_ for name, id_ in pairs]
        table = _with_texts(table, names.index("delegate_id"), ids)
    return table.select([name for name in names if table[name].null_count < table.num_rows])


def headings(names: Sequence[str]) -> list[str]:
    """Names of columns for people, without the unit that stands in each cell."""
    short = [name.removesuffix(next(filter(name.endswith, _UNITS), "")) for name in names]
    return [
        shown(name if short.count(one) > 1 else one) for name, one in zip(names, short, strict=True)
    ]


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
    names: list[list[str | None]] = [[name] for name in headings(table.column_names)]
    widths = [_width(name) for name in names]
    for columns in text_columns(table):
        widths = [max(width, _width(cells)) for width, cells in zip(widths, columns, strict=True)]
    aligned = [is_number(field.type) for field in table.schema]
    for columns in chain([names], text_columns(table)):
        padded = map(_padded, columns, widths, aligned)
        yield from ("  ".join(row).rstrip() for row in zip(*padded, strict=True))


def markdown_lines(table: pa.Table) -> Iterator[str]:
    """A table of GitHub's Markdown."""
    rules = ["---:" if is_number(field.type) else "---" for field in table.schema]
    yield _markdown_row(headings(table.column_names))
    yield f"| {' | '.join(rules)} |"
    for columns in text_columns(table):
        yield from map(_markdown_row, zip(*columns, strict=True))


def html_lines(table: pa.Table) -> Iterator[str]:
    """A page with the table alone, which needs nothing from elsewhere."""
    sides = ["right" if is_number(field.type) else "left" for field in table.schema]
    yield '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>tracehouse</title>'
    yield "<style>body { font: 14px system-ui, sans-serif } table { border-collapse: collapse }"
    yield "th, td { padding: 4px 10px; border-bottom: 1px solid #ddd; text-align: left }"
    yield ".right { text-align: right; font-variant-numeric: tabular-nums }</style>"
    yield "<table>"
    yield _html_row("th", headings(table.column_names), sides)
    for columns in text_columns(table):
        yield from (_html_row("td", row, sides) for row in zip(*columns, strict=True))
    yield "</table>\n</html>"


def _markdown_row(cells: Sequence[str | None]) -> str:
    texts = (escape(cell or "", quote=False).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |"


def _html_row(tag: str, cells: Sequence[str | None], sides: Sequence[str]) -> str:
    texts = (
        f'<{tag} class="{side}">{escape(cell or "")}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(texts)}</tr>"


def _with_texts(table: pa.Table, place: int, texts: list[str | None]) -> pa.Table:
    import pyarrow as pa

    return table.set_column(place, table.column_names[place], pa.array(texts, pa.string()))


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

    write = _unit_of(name) if is_number(column.type) else None
    if write:
        return write_cells(name, column, lambda value: None if value is None else write(value))
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


def _unit_of(name: str) -> Callable[[float], str] | None:
    """How a number in a column of that name is written, if its unit is known."""
    if name.endswith("_share") or name in _SHARES:
        sign = "" if name.endswith("_share") else "+"
        return lambda share: f"{'' if share <= 0 else sign}{_rounded(100 * share, _DIGITS[0])} %"
    scales = next((scales for end, scales in _UNITS.items() if name.endswith(end)), None)
    return partial(_scaled, scales) if scales else None


def _scaled(scales: Sequence[tuple[float, str]], value: float) -> str:
    size = abs(float(value))
    scale, unit = next((pair for pair in scales if size >= pair[0] * 0.99995), scales[-1])
    number = float(value) / scale
    exact = scale == 1 or not 1 <= abs(number) < 1000  # NaN and infinities, too
    text = _rounded(number, _DIGITS[0]) if exact else f"{number:#.4g}"
    return f"{text} {unit}"


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
