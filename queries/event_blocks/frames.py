"""Columns -> a pandas DataFrame, or files as pandas writes them, which do not need pandas.

A table in a frame is byte for byte as the Inspector prints it with tabulate (fancy_grid): a column
is numeric if all of its values are numbers, even as texts. Numbers are aligned at the decimal
point, and fractions have six digits. Unlike there, control characters are escaped.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from itertools import zip_longest
from typing import IO, Any

from tracehouse.queries.printable import printable
from tracehouse.warehouse.errors import QueryError

Columns = Mapping[str, Sequence[Any]]

_PADDING = 2  # spaces of a header, in addition to those of all cells
_NOT_FINITE = ("inf", "-inf", "nan")

_Lines = list[str]


def optional_module(name: str, purpose: str) -> Any:
    """The module; `purpose` is what needs it, for the error message.

    Raises:
        QueryError: The module is not installed.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise QueryError(f"{purpose} needs {package}: pip install {package}") from error


def new_frame(data: Columns | Iterable[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame of columns or rows; a column with None has dtype object.

    Without pandas this raises QueryError.
    """
    pandas = optional_module("pandas", "a DataFrame")
    if not isinstance(data, Mapping):
        return pandas.DataFrame(list(data))
    return pandas.DataFrame(
        {name: pandas.Series(values, dtype=_dtype(values)) for name, values in data.items()}
    )


def write_tsv(file: IO[str], columns: Columns) -> None:
    """Write the columns as pandas does: rows are numbered, and missing values are empty."""
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(["", *columns])
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        writer.writerow([number, *("" if is_missing(value) else value for value in row)])


def as_one_type(values: Sequence[Any]) -> list[Any]:
    """The values as in a column of pandas: integers mixed with fractions or gaps become floats.

    >>> as_one_type([1, None]), as_one_type([1, 2]), as_one_type([1, "a", None])
    ([1.0, nan], [1, 2], [1, 'a', None])
    """
    known = [value for value in values if not is_missing(value)]
    are_numbers = all(isinstance(value, int | float) for value in known)
    if not known or not are_numbers or any(isinstance(value, bool) for value in known):
        return [*values]
    if len(known) == len(values) and not any(isinstance(value, float) for value in known):
        return [*values]
    return [math.nan if is_missing(value) else float(value) for value in values]


def html_table(columns: Columns) -> str:
    """The columns as an HTML table; missing values are empty."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = (
        "".join(f"<td>{'' if is_missing(value) else escape(str(value))}</td>" for value in row)
        for row in zip(*columns.values(), strict=True)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _dtype(values: Sequence[Any]) -> type | None:
    return object if any(value is None for value in values) else None


def is_missing(value: object) -> bool:
    """Whether the value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def grid_lines(columns: Columns) -> Iterator[str]:
    """The lines of the table; rows, if any, are numbered in a first column without a name."""
    rows = range(len(next(iter(columns.values()), ())))
    numbers = {"": rows} if rows else {}
    table = [_column(name, values) for name, values in {**numbers, **columns}.items()]
    widths = [len(column[0][0]) for column in table]

    def rule(marks: str) -> str:
        return marks[0] + marks[2].join(marks[1] * (width + 2) for width in widths) + marks[3]

    yield rule("╒═╤╕")
    for i, cells in enumerate(zip(*table, strict=True)):
        if i:
            yield rule("╞═╪╡" if i == 1 else "├─┼┤")
        for line in zip_longest(*cells):
            texts = (text or " " * width for text, width in zip(line, widths, strict=True))
            yield f"│ {' │ '.join(texts)} │"
    yield rule("╘═╧╛")


def _column(name: str, values: Sequence[object]) -> list[_Lines]:
    """The header and the cells, as lines of equal width."""
    is_numeric = _is_numeric(values)
    if is_numeric:
        cells = [[text] for text in _numbers(values)]
    else:
        cells = [_texts(value) for value in values]
    least = len(name) + _PADDING
    width = max((len(line) for cell in cells for line in cell), default=0)
    pad = str.rjust if is_numeric else str.ljust
    return [[pad(line, max(width, least)) for line in cell] for cell in ([name], *cells)]


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value not in (None, "")]
    numbers = [value for value in known if not isinstance(value, bool)]
    return bool(numbers) and all(map(_is_number, numbers))


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return False
        return math.isfinite(number) or value.lower() in _NOT_FINITE
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(values: Sequence[object]) -> list[str]:
    """Numbers, with trailing spaces that align their decimal points."""
    are_whole = all(map(_is_whole, values))
    texts = [
        "" if value in (None, "") else str(value) if are_whole else f"{_float(value):g}"
        for value in values
    ]
    places = [_decimals(text) for text in texts]
    most = max(places)
    return [text + " " * (most - count) for text, count in zip(texts, places, strict=True)]


def _is_whole(value: object) -> bool:
    if isinstance(value, str):
        try:
            return value == "" or isinstance(int(value), int)
        except ValueError:
            return False
    return value is None or isinstance(value, int)


def _float(value: object) -> float:
    return float(value if isinstance(value, bool) else str(value))


def _decimals(text: str) -> int:
    """Characters after the point, or else after the exponent's e; -1 without either."""
    place = text.rfind(".")
    place = text.rfind("e") if place < 0 else place
    return len(text) - place - 1 if place >= 0 else -1


def _texts(value: object) -> _Lines:
    text = "" if value is None else str(value).strip()
    return [printable(line) for line in text.splitlines()] or [""]
