"""Columns -> a pandas DataFrame, or files as pandas writes them, which do not need pandas."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import IO, Any

from tracehouse.warehouse.errors import QueryError

Columns = Mapping[str, Sequence[Any]]


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
