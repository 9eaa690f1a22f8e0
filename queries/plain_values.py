"""Arrow values as plain values for JSON and CSV, written as docs/json.md defines."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from tracehouse.queries.printable import shorten
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192
_FEW = 1000  # values that are written one by one: importing pyarrow.compute takes longer
_Text = TypeVar("_Text")


class FormatError(QueryError):
    """A format cannot hold a table."""


class UnsupportedColumnError(FormatError):
    """A column has a value that the format cannot hold."""

    def __init__(self, form: str, column: str, error: Exception) -> None:
        super().__init__(
            f"{form}: cannot hold column '{shorten(column, 100)}' ({error}); CAST it AS VARCHAR"
        )
        self.column = column


def plain_rows(table: pa.Table) -> Iterator[tuple[object, ...]]:
    """Rows of the table, in order, with values converted by `plain_value`; see `python_values`."""
    names = table.column_names
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        yield from zip(*map(_plain_column, names, batch.columns), strict=True)


def python_values(name: str, column: pa.Array) -> list[Any]:
    """The values of a column as Python objects.

    Raises:
        UnsupportedColumnError: Python cannot represent a value, such as a time after the year 9999.
    """
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise UnsupportedColumnError("text", name, error) from error
    return values


def write_cells(name: str, column: pa.Array, write: Callable[[Any], _Text]) -> list[_Text]:
    """What `write` makes of each value; of a text, time or whole number that repeats, once.

    A value that Python cannot represent raises UnsupportedColumnError.
    """
    import pyarrow.types as types

    is_known = (types.is_string, types.is_timestamp, types.is_integer)
    if len(column) <= _FEW or not any(is_of(column.type) for is_of in is_known):
        return [write(value) for value in python_values(name, column)]
    encoded = column.dictionary_encode(null_encoding="encode")
    texts = [write(value) for value in python_values(name, encoded.dictionary)]
    return [texts[place] for place in encoded.indices.to_pylist()]


def plain_value(value: object) -> object:
    """The value as None, bool, int, float, text, list or object of these.

    Times are ISO 8601, with ``Z`` for UTC; bytes are lower-case hex; decimals are numbers, exact
    if whole. NaN and infinities, which JSON lacks, are the texts NaN, Infinity and -Infinity.

    >>> plain_value([b"\\x0a", float("-inf"), Decimal("18446744073709551615")])
    ['0a', '-Infinity', 18446744073709551615]
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _NON_FINITE[str(value)]
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.hex()
        case datetime.date() | datetime.time():
            return value.isoformat().replace("+00:00", "Z")
        case list() | tuple():
            return [plain_value(item) for item in value]
        case Mapping():
            return {str(key): plain_value(item) for key, item in value.items()}
    return str(value)


_NON_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _plain_column(name: str, column: pa.Array) -> list[object]:
    import pyarrow.types as types

    values = python_values(name, column)
    if types.is_integer(column.type) or types.is_string(column.type):
        return values
    return [plain_value(value) for value in values]
