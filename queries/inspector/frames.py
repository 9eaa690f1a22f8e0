"""Columns -> a pandas DataFrame, or what pandas writes to a file; only the DataFrame needs it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from queries.inspector.optional_modules import optional_module

Columns = Mapping[str, Sequence[Any]]


def new_frame(data: Columns | Iterable[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame of columns, or of rows; a column with None in it is of objects.

    Without pandas it raises QueryError.
    """
    pandas = optional_module("pandas", "a DataFrame")
    if not isinstance(data, Mapping):
        return pandas.DataFrame(list(data))
    return pandas.DataFrame(
        {name: pandas.Series(values, dtype=_dtype(values)) for name, values in data.items()}
    )


def write_tsv(file: IO[str], columns: Columns) -> None:
    """Write the columns as pandas does: rows are numbered, and what is missing is empty."""
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(["", *columns])
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        writer.writerow([number, *("" if is_missing(value) else value for value in row)])


def _dtype(values: Sequence[Any]) -> type | None:
    return object if any(value is None for value in values) else None


def is_missing(value: object) -> bool:
    """Whether it is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))
