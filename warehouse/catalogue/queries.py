"""The canned queries by name, each with its documentation and its text; no engine.

Filters that queries share are in sql/filters. A query names a filter in its header, and reads it
like a table::

    -- filters: chosen_dumps
    ...
    SELECT ... FROM named_dumps WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)

This module puts the filters before the query's text as a CTE, and adds their parameters to the
query's. It does the same with the query's parts, which are files of sql/parts.

Python answers the queries of sql/computed, whose files are headers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tracehouse.warehouse.catalogue.dialect import without_parameter
from tracehouse.warehouse.catalogue.header import Filters, Header, parse_header
from tracehouse.warehouse.catalogue.sql_files import (
    list_sql_files,
    read_sql_file,
    read_sql_files,
    read_statement,
)
from tracehouse.warehouse.errors import HeaderError, UnknownQueryError

_COMPUTED = "computed"
_NIGHTLY = ("change_points", "nightly_verdicts")


class Query(NamedTuple):
    """One canned query.

    Attributes:
        header: Documentation, columns and parameters, including those of its parts and filters.
        sql: One SELECT, complete with parts and filters, with parameters as `:name`.
        is_computed: Whether Python answers it, and `sql` has no SELECT.
    """

    header: Header
    sql: str
    is_computed: bool = False

    @property
    def is_nightly(self) -> bool:
        """Whether it judges nights, by thresholds that settings may change."""
        return self.header.name in _NIGHTLY


@cache
def find_filters(name: str) -> Query:
    """The file of sql/filters of this name, complete with the filters that it reads."""
    filters = read_sql_files("filters")
    return expand(filters[name], f"{name}.sql", filters)


@cache
def load_catalogue(folder: str = "queries") -> Mapping[str, Query]:
    """Every query of a folder of sql by name, in alphabetical order; see `find_query`."""
    return {name: find_query(name, folder) for name in list_sql_files(folder)}


@cache
def list_queries() -> tuple[str, ...]:
    """Names of all canned queries, those that Python answers too, in alphabetical order."""
    return tuple(sorted([*list_sql_files("queries"), *list_sql_files(_COMPUTED)]))


def list_headers() -> list[Header]:
    """The headers of all canned queries, in order of their names."""
    return [find_query(name).header for name in list_queries()]


@cache
def list_views() -> dict[str, str]:
    """The file of every view by name, in an order in which the views can be created."""
    return {name[4:]: name for name in list_sql_files("views")}


def read_view(name: str) -> str:
    """The text of a view, complete.

    Raises:
        HeaderError: A header is malformed, or names unknown parts.
    """
    file = list_views()[name]
    text = read_sql_file("views", file)
    return expand(text, f"{file}.sql", {}, read_sql_files("parts")).sql


@cache
def expand_statement(name: str) -> str:
    """The text of a file of sql/statements with the parts of its header; parameters as `$name`.

    Raises:
        HeaderError: The file's header is malformed, or names unknown parts.
    """
    query = expand(read_statement(name), f"{name}.sql", {}, read_sql_files("parts"))
    return query.sql.replace("CAST(:", "CAST($")


@cache
def find_query(name: str, folder: str = "queries") -> Query:
    """The query of this name in a folder of sql; of canned queries, those that Python answers too.

    Raises:
        UnknownQueryError: No query has this name; the error suggests similar names.
        HeaderError: The header of a file is malformed, or names unknown filters or parts.
    """
    known = list_queries() if folder == "queries" else list_sql_files(folder)
    if name not in known:
        raise UnknownQueryError(name, known)
    if folder == "queries" and name in list_sql_files(_COMPUTED):
        folder = _COMPUTED
    text, path = read_sql_file(folder, name), f"{name}.sql"
    query = expand(text, path, read_sql_files("filters"), read_sql_files("parts"))
    if query.header.name != name:
        raise HeaderError(f"{path}:1", f"is called {query.header.name}")
    return query._replace(is_computed=folder == _COMPUTED)


def expand(
    text: str, path: str, filters: Mapping[str, str], parts: Mapping[str, str] | None = None
) -> Query:
    """The query of a .sql file, complete with the parts and filters that its header names.

    Args:
        text: The file's text.
        path: Its name, for errors.
        filters: Texts of the files of sql/filters by name; they may have filters themselves.
        parts: Texts of the files of sql/parts by name; they may have parts themselves.

    Raises:
        HeaderError: A header is malformed, or names unknown filters, parts or parameters.
    """
    header, known = parse_header(text, path), parts or {}
    taken = []
    for part in header.parts:
        if part.file not in known:
            raise HeaderError(path, f"no part '{part.file}' in sql/parts")
        taken.append((part.name, expand(known[part.file], f"{part.file}.sql", {}, known)))
    filtered = []
    if header.filters is not None:
        filtered = [(header.filters.name, _expand_filters(header.filters, path, filters))]
    for name, own in reversed([*filtered, *taken]):
        text = _with_cte(text, name, own.sql)
    params = (param for _, own in [*taken, *filtered] for param in own.header.params)
    return Query(header._replace(params=(*header.params, *params)), text)


def _expand_filters(wanted: Filters, path: str, filters: Mapping[str, str]) -> Query:
    """The filters of a query, without the parameters that it leaves out.

    Raises:
        HeaderError: The filters or parameters are unknown.
    """
    name, without = wanted
    if name not in filters:
        raise HeaderError(path, f"no filters '{name}' in sql/filters")
    query = expand(filters[name], f"{name}.sql", filters)
    known = {parameter.name for parameter in query.header.params}
    if not known.issuperset(without):
        raise HeaderError(path, f"filters '{name}' have no {', '.join(set(without) - known)}")
    sql = query.sql
    for left_out in without:
        sql = without_parameter(sql, left_out)
    params = tuple(param for param in query.header.params if param.name not in without)
    return Query(query.header._replace(params=params), sql)


def _with_cte(text: str, name: str, cte: str) -> str:
    """The text with a CTE added before its own."""
    header, body = _split(text)
    rest = f"),\n{body.removeprefix('WITH ')}" if body.startswith("WITH ") else f")\n{body}"
    return f"{header}WITH {name} AS (\n{_split(cte)[1].rstrip()}\n{rest}"


def _split(text: str) -> tuple[str, str]:
    """The header of a .sql file, and the statement after it."""
    lines = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return "".join(lines[:start]), "".join(lines[start:])
