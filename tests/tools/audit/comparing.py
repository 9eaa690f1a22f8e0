"""Two answers compared: which columns differ, and in which row first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
ROUGH = {"p": 2e-7, "p_adjusted": 2e-7}  # a polynomial gives erfc, with a relative error of 1.2e-7
ROWS = "the rows"  # stands for a column where rows are missing or too many
ORDER = "the order"  # stands for one where they are those that they should be, but elsewhere
NEAR = 1e-12  # two computations of one number, by different sums, differ in the last digits


class Difference(NamedTuple):
    """A column in which answers differ, with the first row of it."""

    column: str
    row: str
    found: object
    wanted: object

    def __str__(self) -> str:
        return f"{self.column}: found {self.found!r}, wanted {self.wanted!r}, in {self.row}"


def compare_rows(
    found: Sequence[Row],
    wanted: Sequence[Row],
    columns: Sequence[str],
    *,
    bounds: Mapping[str, str] | None = None,
    near: float = NEAR,
) -> list[Difference]:
    """The first difference of each column, rows taken in an order of their own.

    Rows are matched by what is no fraction in them. Where columns differ that match rows, these
    are named; where there are more or fewer rows, that is the only difference.

    Args:
        found: Rows that were answered.
        wanted: Rows that should have been.
        columns: What to look at.
        bounds: By column the one that says how far off it may be, as a share of it.
        near: How far off other fractions may be, likewise.
    """
    if len(found) != len(wanted):
        return [_lone_rows(found, wanted, columns)]
    names = [name for name in columns if not _is_fraction(name, found, wanted)]
    order = [*names, *(name for name in columns if name not in names)]
    differences: dict[str, Difference] = {}
    for mine, theirs in zip(_sorted(found, order), _sorted(wanted, order), strict=True):
        for name in columns:
            off = mine[bounds[name]] if bounds and name in bounds else ROUGH.get(name, near)
            if name not in differences and not is_same(mine[name], theirs[name], off):
                row = ", ".join(f"{key}={mine[key]}" for key in names if mine[key] is not None)
                differences[name] = Difference(name, row, mine[name], theirs[name])
    return list(differences.values())


def compare_order(
    found: Sequence[Row], wanted: Sequence[Row], columns: Collection[str]
) -> list[Difference]:
    """Whether the same rows are in another order."""
    names = [name for name in columns if not _is_fraction(name, found, wanted)]
    for place, (mine, theirs) in enumerate(zip(found, wanted, strict=False)):
        keys = [{name: row[name] for name in names} for row in (mine, theirs)]
        if keys[0] != keys[1]:
            return [Difference(ORDER, f"row {place}", *keys)]
    return []


def _lone_rows(found: Sequence[Row], wanted: Sequence[Row], columns: Sequence[str]) -> Difference:
    names = [name for name in columns if not _is_fraction(name, found, wanted)]
    keys = [Counter(_key(row, names) for row in rows) for rows in (found, wanted)]
    lone = [next(iter(some), None) for some in (keys[0] - keys[1], keys[1] - keys[0])]
    shown = [None if key is None else dict(zip(names, key, strict=True)) for key in lone]
    return Difference(ROWS, f"{len(found)} rows, wanted {len(wanted)}", *shown)


def is_same(found: object, wanted: object, near: float = NEAR) -> bool:
    """Whether two values are one, fractions but for their last digits."""
    numbers = isinstance(found, int | float) and isinstance(wanted, int | float)
    if numbers and float in (type(found), type(wanted)):
        return math.isclose(float(found), float(wanted), rel_tol=near, abs_tol=1e-9)
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


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
    if isinstance(value, int | float):
        return 1, float(f"{value:.6g}"), ""
    return 2, 0.0, str(value)
