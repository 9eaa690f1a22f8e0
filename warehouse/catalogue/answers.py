"""Answers of canned queries by DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import duckdb

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.header import Names
from warehouse.catalogue.name_filters import resolve_names
from warehouse.catalogue.parameters import bind_parameters
from warehouse.catalogue.portions import split_question
from warehouse.catalogue.queries import Query
from warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa


def answer_query(
    connection: duckdb.DuckDBPyConnection, query: Query, params: Mapping[str, object]
) -> pa.Table:
    """The rows of a canned query, with the columns of its header.

    The query's SQL functions must be registered: see `register_functions`.

    Raises:
        ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or the
            store lacks a name in it.
        QueryError: The query needs more memory than is available.
    """
    import pyarrow as pa

    values, text = resolve_parameters(connection, query, params), duckdb_text(query.sql)
    try:
        return pa.concat_tables(
            connection.sql(text, params=own).to_arrow_table()
            for own in split_question(connection, query, values)
        )
    except duckdb.OutOfMemoryException as error:
        less = "select fewer dumps, such as those of one device and build"
        if values.get("approx") is False:
            less += ", or accept approximate answers with --approx"
        problem = f"needs more memory than is available ({str(error).splitlines()[0]}): {less}"
        raise QueryError(f"query '{query.header.name}': {problem}") from error


def resolve_parameters(
    connection: duckdb.DuckDBPyConnection, query: Query, params: Mapping[str, object]
) -> dict[str, object]:
    """Values of all parameters of a query, with names looked up.

    Raises:
        ParameterError: See `answer_query`.
    """

    def read_names(names: Names) -> list[object]:
        column = connection.table(names.table).project(names.column).distinct()
        return [value for (value,) in column.fetchall() if value is not None]

    return resolve_names(query, bind_parameters(query, params), read_names)
