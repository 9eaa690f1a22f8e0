"""Answers of canned queries by DuckDB."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import duckdb

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.header import Names
from warehouse.catalogue.name_filters import resolve_names
from warehouse.catalogue.parameters import bind_parameters
from warehouse.catalogue.portions import split_question
from warehouse.catalogue.queries import Query
from warehouse.errors import LongQuestionError, QueryError

if TYPE_CHECKING:
    import pyarrow as pa


def answer_query(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    params: Mapping[str, object],
    *,
    seconds: float | None = None,
) -> pa.Table:
    """The rows of a canned query, with the columns of its header.

    The query's SQL functions must be registered: see `register_functions`.

    Args:
        connection: A connection to the store.
        query: The query.
        params: Parameters; texts are converted, and defaults filled in.
        seconds: Limit of the answer's time; None without a limit.

    Raises:
        LongQuestionError: After some portions of the answer, the limit is seen to be too short.
        ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or the
            store lacks a name in it.
        QueryError: The query needs more memory than is available.
    """
    import pyarrow as pa

    start = time.monotonic()
    values, text = resolve_parameters(connection, query, params), duckdb_text(query.sql)
    answers: list[pa.Table] = []
    try:
        portions = list(split_question(connection, query, values))
        for own in portions:
            answers.append(connection.sql(text, params=own).to_arrow_table())
            expected = (time.monotonic() - start) * len(portions) / len(answers)
            if seconds is not None and expected > seconds and len(answers) < len(portions):
                filters = [one.name for one in query.header.params if one.names]
                raise LongQuestionError(query.header.name, expected, seconds, filters)
    except duckdb.OutOfMemoryException as error:
        less = "select fewer dumps, such as those of one device and build"
        if values.get("approx") is False:
            less += ", or accept approximate answers with --approx"
        problem = f"needs more memory than is available ({str(error).splitlines()[0]}): {less}"
        raise QueryError(f"query '{query.header.name}': {problem}") from error
    return pa.concat_tables(answers)


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
