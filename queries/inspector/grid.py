"""Columns -> a table in a frame, byte for byte as the Inspector prints it. Pure.

The Inspector uses tabulate (fancy_grid): a column is numeric if all of its values are numbers, even
as texts. Numbers are aligned at the decimal point, and fractions have six digits. Unlike there,
control characters are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tracehouse.queries.event_blocks.frames import Columns
from tracehouse.queries.printable import printable

_PADDING = 2  # of a header, in addition to that of all cells
_NOT_FINITE = ("inf", "-inf", "nan")

_Lines = list[str]


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
