"""Tables as text for people: rounded numbers, readable times, aligned columns."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.values import plain_value

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 8192
_NAMING = ("_id", "_index", "ordinal")


def text_columns(table: pa.Table) -> Iterator[list[list[str | None]]]:
    """Cells of a few thousand rows at a time, one list per column; None for null."""
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        yield [
            [None if value is None else _cell(name, value) for value in column.to_pylist()]
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]


def is_number(type_: pa.DataType) -> bool:
    """Whether a column of this type is aligned to the right."""
    import pyarrow.types as types

    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def text_lines(table: pa.Table) -> Iterator[str]:
    """A line of column names and one per row; nulls are empty."""
    widths = [len(name) for name in table.column_names]
    for columns in text_columns(table):
        widths = [
            max(width, *(len(cell or "") for cell in cells))
            for width, cells in zip(widths, columns, strict=True)
        ]
    marks = [">" if is_number(field.type) else "<" for field in table.schema]
    line = "  ".join(f"{{:{mark}{width}}}" for mark, width in zip(marks, widths, strict=True))
    yield line.format(*table.column_names).rstrip()
    for columns in text_columns(table):
        for row in zip(*columns, strict=True):
            yield line.format(*(cell or "" for cell in row)).rstrip()


def printable(text: str) -> str:
    r"""The text with line ends and control characters escaped: a name must not steer a terminal.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )


def _cell(name: str, value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value) if name.endswith(_NAMING) else f"{value:,}"
        case float():
            return _rounded(value)
        case str():
            return printable(value)
        case datetime.datetime():
            return _time(value)
    plain = plain_value(value)
    if isinstance(plain, int | float):
        return _cell(name, plain)
    return printable(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))


def _rounded(value: float) -> str:
    """Four significant digits, and every digit before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e18 else f"{value:.4g}"


def _time(value: datetime.datetime) -> str:
    return value.isoformat(" ", "seconds").replace("+00:00", "Z")
