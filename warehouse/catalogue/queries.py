"""The canned queries by name, each with its documentation and its text; no engine.

Filters that queries share are written once, in sql/filters. A query says in its header which of
them it takes, and reads it like a table::

    -- filters: chosen_dumps
    ...
    SELECT ... FROM named_dumps WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)

Here the file gets what it reads as a CTE in front, and the parameters of that as its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from warehouse.catalogue.dialect import without_parameter
from warehouse.catalogue.header import Header, parse_header
from warehouse.catalogue.sql_files import read_sql_files
from warehouse.errors import HeaderError, UnknownQueryError


class Query(NamedTuple):
    """One canned query.

    Attributes:
        header: Its documentation, parameters (those of its filters too) and columns.
        sql: One SELECT with parameters as `:name`, complete: what any engine is to run.
    """

    header: Header
    sql: str


@cache
def load_catalogue() -> Mapping[str, Query]:
    """Every canned query by name, in alphabetical order.

    Raises:
        HeaderError: A .sql file that ships with the project has a malformed header, or names
            filters that there are not.
    """
    filters = {name.removesuffix(".sql"): text for name, text in read_sql_files("filters")}
    queries = {}
    for path, text in read_sql_files("queries"):
        query = expand(text, path, filters)
        if f"{query.header.name}.sql" != path:
            raise HeaderError(f"{path}:1", f"is called {query.header.name}")
        queries[query.header.name] = query
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


def expand(text: str, path: str, filters: Mapping[str, str]) -> Query:
    """The query of a .sql file, complete with the filters that its header names.

    Args:
        text: The file's text.
        path: Its name, for errors.
        filters: Texts of the files of sql/filters by name; they may take filters themselves.

    Raises:
        HeaderError: A header is malformed, or names filters or parameters that there are not.
    """
    header = parse_header(text, path)
    if header.filters is None:
        return Query(header, text)
    name, without = header.filters
    if name not in filters:
        raise HeaderError(path, f"no filters '{name}' in sql/filters")
    taken = expand(filters[name], f"{name}.sql", filters)
    known = {parameter.name for parameter in taken.header.params}
    if not known.issuperset(without):
        raise HeaderError(path, f"filters '{name}' have no {', '.join(set(without) - known)}")
    params = tuple(param for param in taken.header.params if param.name not in without)
    filter_sql = taken.sql
    for left_out in without:
        filter_sql = without_parameter(filter_sql, left_out)
    return Query(
        header._replace(params=(*header.params, *params)), _with_cte(text, name, filter_sql)
    )


def _with_cte(text: str, name: str, cte: str) -> str:
    """The text with one more CTE before its own, if it has any."""
    header, body = _split(text)
    rest = f"),\n{body.removeprefix('WITH ')}" if body.startswith("WITH ") else f")\n{body}"
    return f"{header}WITH {name} AS (\n{_split(cte)[1].rstrip()}\n{rest}"


def _split(text: str) -> tuple[str, str]:
    """The header of a .sql file, and the statement that follows."""
    lines = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return "".join(lines[:start]), "".join(lines[start:])
