"""Two answers compared: which columns differ, and in which row first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
ROWS = "the rows"  # stands for a column where rows are missing or too many
NEAR = 1e-9  # two computations of one number, by different sums, differ in the last digits


class Difference(NamedTuple):
    """A column in which answers differ, with the first row of it."""

    column: str
    row: str
    found: object
    wanted: object

    def __str__(self) -> str:
        return f"{self.column}: found {self.found!r}, wanted {self.wanted!r}, in {self.row}"


def compare_rows(
    found: Sequence[Row], wanted: Sequence[Row], columns: Collection[str], *, near: float = NEAR
) -> list[Difference]:
    """The first difference of each column, rows taken in an order of their own.

    Rows are matched by what is no fraction in them; if those differ, rows are missing.
    """
    names = [name for name in columns if not _is_fraction(name, found, wanted)]
    keys = [Counter(_key(row, names) for row in rows) for rows in (found, wanted)]
    if keys[0] != keys[1]:
        return [*_lone_rows(keys, names), *_by_position(found, wanted, columns, near)]
    order = [*names, *(name for name in columns if name not in names)]
    pairs = zip(_sorted(found, order), _sorted(wanted, order), strict=True)
    differences: dict[str, Difference] = {}
    for mine, theirs in pairs:
        for name in columns:
            if name not in differences and not is_same(mine[name], theirs[name], near):
                row = ", ".join(f"{key}={mine[key]}" for key in names if mine[key] is not None)
                differences[name] = Difference(name, row, mine[name], theirs[name])
    return list(differences.values())


def _by_position(
    found: Sequence[Row], wanted: Sequence[Row], columns: Collection[str], near: float
) -> list[Difference]:
    """Columns that differ though as many rows came: those that tell rows apart."""
    if len(found) != len(wanted):
        return []
    order = list(columns)
    pairs = list(zip(_sorted(found, order), _sorted(wanted, order), strict=True))
    return [
        Difference(name, "rows in order", None, None)
        for name in columns
        if not all(is_same(mine[name], theirs[name], near) for mine, theirs in pairs)
    ]


def _lone_rows(keys: list[Counter[Any]], names: list[str]) -> list[Difference]:
    extra, missing = keys[0] - keys[1], keys[1] - keys[0]
    shown = [dict(zip(names, next(iter(some)), strict=True)) if some else None
             for some in (extra, missing)]  # fmt: skip
    counts = f"{extra.total()} rows too many, {missing.total()} missing"
    return [Difference(ROWS, counts, shown[0], shown[1])]


def is_same(found: object, wanted: object, near: float = NEAR) -> bool:
    """Whether two values are one, fractions but for their last digits."""
    if isinstance(found, float) and isinstance(wanted, int | float):
        return math.isclose(found, wanted, rel_tol=near, abs_tol=1e-7)
    if isinstance(wanted, float) and isinstance(found, int):
        return math.isclose(found, wanted, rel_tol=near, abs_tol=1e-7)
    return type(found) is type(wanted) and found == wanted


def _is_fraction(name: str, *answers: Iterable[Row]) -> bool:
    return any(isinstance(row[name], float) for rows in answers for row in rows)


def _key(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(_hashable(row[name]) for name in names)


def _hashable(value: object) -> object:
    return repr(value) if isinstance(value, list | dict) else value


def _sorted(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    return sorted(rows, key=lambda row: [_place(row[name]) for name in names])


def _place(value: object) -> tuple[int, float, str]:
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, float):
        return 1, float(f"{value:.6g}"), ""
    return (2, float(value), "") if isinstance(value, int) else (3, 0.0, str(value))
