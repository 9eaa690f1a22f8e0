"""The canned queries: names and parameters in, one documented SELECT out; no engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from warehouse.catalogue.header import Header, Parameter, parse_header
from warehouse.errors import HeaderError, ParameterError, UnknownQueryError, suggest

_MARKERS = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|::|:([A-Za-z_]\w*)", re.DOTALL)


class Query(NamedTuple):
    """One canned query.

    Attributes:
        header: Its documentation, parameters and columns.
        sql: Text of the file: one SELECT with parameters as `:name`.
    """

    header: Header
    sql: str


@cache
def load_catalogue() -> Mapping[str, Query]:
    """Every canned query by name, in alphabetical order.

    Raises:
        HeaderError: A .sql file that ships with the project has a malformed header.
    """
    paths = sorted((files("sql") / "queries").iterdir(), key=lambda path: path.name)
    queries = {}
    for path in paths:
        if path.name.endswith(".sql"):
            text = path.read_text(encoding="utf-8")
            header = parse_header(text, path.name)
            if f"{header.name}.sql" != path.name:
                raise HeaderError(f"{path.name}:1", f"is called {header.name}")
            queries[header.name] = Query(header, text)
    return queries


def find_query(name: str) -> Query:
    """The canned query of this name.

    Raises:
        UnknownQueryError: There is none; names those that are spelt alike.
    """
    catalogue = load_catalogue()
    if name not in catalogue:
        raise UnknownQueryError(name, tuple(catalogue))
    return catalogue[name]


def bind_parameters(query: Query, params: Mapping[str, object]) -> dict[str, object]:
    """A value of the declared type for every parameter of the query, in the header's order.

    Texts (from a command line or a URL) are converted, defaults filled in; None is the same as
    not given. Times without a zone are UTC.

    Raises:
        ParameterError: A parameter is unknown, missing, or not of its type.
    """
    header = query.header
    known = [parameter.name for parameter in header.params]
    for name in params:
        if name not in known:
            problem = f"no such parameter{suggest(name, known)}"
            raise ParameterError(header.name, name, problem)
    bound = {}
    for parameter in header.params:
        value = params.get(parameter.name)
        if value is None and parameter.is_required:
            raise ParameterError(header.name, parameter.name, f"missing: {parameter.doc}")
        bound[parameter.name] = _convert(
            header.name, parameter, parameter.default if value is None else value
        )
    return bound


def duckdb_text(sql: str) -> str:
    """The text with each parameter `:name` as DuckDB's `$name`.

    >>> duckdb_text("SELECT ':a', CAST(:a AS INT), b::INT -- :a")
    "SELECT ':a', CAST($a AS INT), b::INT -- :a"
    """
    return _MARKERS.sub(lambda match: f"${match[1]}" if match[1] else match[0], sql)


def _convert(query: str, parameter: Parameter, value: object) -> object:
    if value is None:
        return None
    if parameter.choices and value not in parameter.choices:
        wanted = ", ".join(parameter.choices)
        raise ParameterError(query, parameter.name, f"{value!r}, wanted one of {wanted}")
    convert, wanted = _CONVERSIONS[parameter.type]
    try:
        return convert(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ParameterError(query, parameter.name, f"{value!r}, wanted {wanted}") from error


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _integer(bits: int) -> Callable[[object], int]:
    def convert(value: object) -> int:
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise TypeError
        number = int(value)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise OverflowError
        return number

    return convert


def _double(value: object) -> float:
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = _string(value).lower()
    if text not in {"true", "false"}:
        raise ValueError
    return text == "true"


def _timestamp(value: object) -> datetime:
    time = value if isinstance(value, datetime) else datetime.fromisoformat(_string(value))
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


_CONVERSIONS: dict[str, tuple[Callable[[object], object], str]] = {
    "STRING": (_string, "a text"),
    "INT": (_integer(32), "a whole number of 32 bits"),
    "BIGINT": (_integer(64), "a whole number of 64 bits"),
    "DOUBLE": (_double, "a finite number"),
    "BOOLEAN": (_boolean, "true or false"),
    "TIMESTAMP": (_timestamp, "a date or time such as 2026-11-21T08:00:00Z"),
}
